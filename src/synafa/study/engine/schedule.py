"""Which unit next? Keeps the state of a run: waiting, ready, running, done, failed, blocked.

A unit is ready when all it needs is done; ready units go longest chain of costs first. A unit that needs a failed or
blocked one is blocked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from synafa.study.engine.store import Store
from synafa.study.engine.unit import Unit, priorities, with_needs


@dataclass
class Summary:
    """How a run ended: keys are counted; failures, blocked units and results that were found damaged are named."""

    total: int = 0
    already: int = 0
    ran: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        return self.already + len(self.ran) == self.total


class Schedule:
    """The state of one run over a set of units."""

    def __init__(self, units: Sequence[Unit], store: Store, workers: int) -> None:
        self.units = {unit.key: unit for unit in with_needs(units)}
        self.store = store
        self.workers = max(1, workers)
        self.rank = priorities(units)
        self.done = {key for key, unit in self.units.items() if store.status(unit) == "done"}
        self.summary = Summary(total=len(self.units), already=len(self.done), damaged=list(store.damaged.values()))
        self.failed: set[str] = set()
        self.blocked: set[str] = set()
        self.running: dict[str, float] = {}
        self._started = time.perf_counter()
        self._worked: list[tuple[float, float]] = []  # (cost hint, seconds) of units finished in this run

    def ready(self) -> list[Unit]:
        """Units that can start now, in the order in which they should."""
        waiting = (self.units[key] for key in self._open - self.running.keys())
        able = [unit for unit in waiting if all(need.key in self.done for need in unit.needs)]
        return sorted(able, key=lambda unit: (-self.rank[unit.key], unit.key))

    @property
    def _open(self) -> set[str]:
        return self.units.keys() - self.done - self.failed - self.blocked

    @property
    def finished(self) -> bool:
        return not self._open

    def start(self, unit: Unit) -> None:
        self.running[unit.key] = time.perf_counter()

    def succeed(self, unit: Unit) -> None:
        """The unit's result is stored."""
        self._stop(unit)
        self.done.add(unit.key)
        self.summary.ran.append(unit.key)

    def skip(self, unit: Unit) -> None:
        """Someone else finished this unit in the meantime."""
        self.done.add(unit.key)
        self.summary.already += 1

    def fail(self, unit: Unit, error: str) -> None:
        """The unit failed; everything that needs it is blocked."""
        self._stop(unit)
        self.failed.add(unit.key)
        self.summary.failed[unit.label] = error
        still_open = self._open
        lost = self.failed | self.blocked
        for key, other in self.units.items():  # needs come before dependents, so one pass is enough
            if key in still_open and any(need.key in lost for need in other.needs):
                lost.add(key)
                self.blocked.add(key)
                self.summary.blocked.append(other.label)

    def close(self, interrupted: bool = False) -> Summary:
        self.summary.interrupted = interrupted
        self.summary.seconds = time.perf_counter() - self._started
        return self.summary

    def _stop(self, unit: Unit) -> None:
        began = self.running.pop(unit.key, None)
        if began is not None:
            self._worked.append((unit.cost, time.perf_counter() - began))

    def seconds_left(self) -> float:
        """Remaining cost hints, scaled by how wrong the hints have been so far, shared among the workers."""
        hinted = sum(cost for cost, _ in self._worked)
        rate = sum(seconds for _, seconds in self._worked) / hinted if hinted > 0 else 1.0
        now = time.perf_counter()
        left = 0.0
        longest = 0.0
        for key in self._open:
            began = self.running.get(key)
            remaining = rate * self.units[key].cost
            if began is not None:
                remaining = max(0.0, remaining - (now - began))
            left += remaining
            longest = max(longest, remaining)
        return max(longest, left / self.workers)
