"""Timing on shared machines: the two sides of a ratio take turns, and the median of each counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

MISSED: list[str] = []  # what was measured beyond its aim, for the last line of a run


def seconds(action: Callable[[], object], awake: bool = False) -> float:
    """Wall time of one call, after a pause in which the threads of the previous one stop waiting for work.

    With `awake` the same call comes once before: waking the threads of a pool can take longer than what is measured.
    """
    time.sleep(0.1)
    if awake:
        action()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_turns(*actions: Callable[[], object], rounds: int = 7, awake: bool = False) -> tuple[float, ...]:
    """Median wall times of several actions that take turns; each is called once beforehand."""
    for action in actions:
        action()
    times = [[seconds(action, awake) for action in actions] for _ in range(rounds)]
    return tuple(median(column) for column in zip(*times))


def line(what: str, measured: float, unit: str, aim: float | None = None, at_most: bool = True) -> bool:
    """Print a measurement beside its aim; True when it is met (or there is none)."""
    met = aim is None or (measured <= aim if at_most else measured >= aim)
    limit = "at most" if at_most else "at least"
    said = "" if aim is None else f"   aim: {limit} {aim:g} {unit}  {'ok' if met else 'MISSED'}"
    print(f"{what:<66} {measured:>9.3f} {unit}{said}", flush=True)
    if not met:
        MISSED.append(what)
    return met
