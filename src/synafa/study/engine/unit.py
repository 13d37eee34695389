"""A unit of work: one call of an experiment's `run` on JSON parameters, named by the hash of what decides its result.

key = hash(experiment, version, parameters, profile, seed). The function is a dotted reference that the worker resolves
itself, so no code travels between processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

from synafa.errors import SynafaError
from synafa.files import content_hash


@dataclass(frozen=True, eq=False)
class Unit:
    """One piece of an experiment that is computed once and stored.

    Attributes
    ----------
    experiment : the experiment's name
    function : dotted reference `package.module:name` of a function from a unit to `{"rows": [...], "arrays": {...}}`
    parameters : JSON-able, e.g. `{"dataset": "ckd", "instance": 0, "method": "aaco", "budget": 4}`
    profile, seed : as in `Settings`
    version : of the function; raising it makes every stored result of older versions invisible
    needs : units that must be finished first
    cost : expected seconds, used for the order of work and the time left; not part of the identity
    """

    experiment: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "standard"
    seed: int = 0
    version: int = 1
    needs: tuple[Unit, ...] = ()
    cost: float = 1.0

    def __post_init__(self) -> None:
        try:
            plain = json.loads(json.dumps(dict(self.parameters)))
        except (TypeError, ValueError) as error:
            raise SynafaError(
                f"The parameters of a unit of {self.experiment!r} are not JSON ({error}); use text, numbers and lists."
            ) from None
        object.__setattr__(self, "parameters", plain)  # tuples become lists here, as they will after a round trip
        object.__setattr__(self, "needs", tuple(self.needs))

    @cached_property
    def key(self) -> str:
        """The unit's identity, the same on every machine."""
        return content_hash([self.experiment, self.version, self.parameters, self.profile, self.seed])

    @property
    def label(self) -> str:
        """The unit in words, e.g. `benchmark: ckd 0 aaco 4`."""
        return f"{self.experiment}: {' '.join(_word(value) for value in self.parameters.values())}".rstrip(": ")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unit) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __getitem__(self, name: str) -> Any:
        """A parameter by name."""
        try:
            return self.parameters[name]
        except KeyError:
            raise SynafaError(
                f"Unit {self.label!r} has no parameter {name!r}; it has {sorted(self.parameters)}."
            ) from None

    @property
    def quick(self) -> bool:
        return self.profile == "quick"

    def resolve(self) -> Callable[[Unit], dict[str, Any]]:
        """The function this unit calls."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name or "run")

    def to_dict(self) -> dict[str, Any]:
        """Everything a worker needs to run the unit, as JSON."""
        return {
            "experiment": self.experiment,
            "function": self.function,
            "parameters": dict(self.parameters),
            "profile": self.profile,
            "seed": self.seed,
            "version": self.version,
            "cost": self.cost,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Unit:
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name != "needs" and name in stored})


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_needs(units: Iterable[Unit]) -> list[Unit]:
    """The units and everything they need, each once, needs before their dependents."""
    ordered: dict[str, Unit] = {}

    def add(unit: Unit) -> None:
        if unit.key not in ordered:
            for need in unit.needs:
                add(need)
            ordered.setdefault(unit.key, unit)

    for unit in units:
        add(unit)
    return list(ordered.values())


def priorities(units: Iterable[Unit]) -> dict[str, float]:
    """The length of the longest chain of costs that starts at each unit: working in this order keeps all hands busy."""
    ordered = with_needs(units)
    dependents: dict[str, list[str]] = {unit.key: [] for unit in ordered}
    for unit in ordered:
        for need in unit.needs:
            dependents[need.key].append(unit.key)
    rank: dict[str, float] = {}
    for unit in reversed(ordered):
        rank[unit.key] = unit.cost + max((rank[key] for key in dependents[unit.key]), default=0.0)
    return rank
