"""Stop rules that combine: from the states of many cases to stop or go on, which rule says so, and a sentence.

A case stops when any rule fires: nothing left, budget, a calibrated floor, a probability reached, the largest number of
measurements, or money: no measurement is expected to save as much as it costs. The first of them, in this order, gives
the reason, so that "Enough" is never said when the money ran out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money.errors import label_text
from synafa.money.floor import Floor
from synafa.money.prices import TOLERANCE, affordable
from synafa.money.words import amount, one_in, percent

RULES = ("complete", "budget", "floor", "probability", "max_measurements", "money")
COMPLETE, BUDGET, FLOOR, PROBABILITY, MAX_MEASUREMENTS, MONEY = range(len(RULES))


@dataclass(frozen=True, eq=False)
class States:
    """What the stop rules look at, for n cases.

    Attributes
    ----------
    feature_names, classes : names of the D features, labels of the K classes
    price : float64 (n, D)
        What asking for each feature costs now (`PriceList.now`).
    open : bool (n, D)
        Features that are neither known nor unavailable.
    measured : int (n,)
        Number of measurements so far; a panel is one.
    proba : float (n, K), default=None
        Class probabilities now; needed by `probability` and `floor`.
    decided : int (n,), default=None
        Class that would be decided now; None: the most probable.
    spent : float (n,), default=None
        Money paid so far; needed by `budget`, unless `remaining` is given.
    remaining : float (n,), default=None
        What is left, in place of the rule's budget minus `spent`.
    saving : float (n, D), default=None
        By how much each measurement, with what is to follow it, is expected to lower the cost of errors (less the
        prices of what follows); needed by `money`.
    """

    feature_names: Sequence[str]
    classes: Sequence[Any]
    price: np.ndarray
    open: np.ndarray
    measured: np.ndarray
    proba: np.ndarray | None = None
    decided: np.ndarray | None = None
    spent: np.ndarray | None = None
    remaining: np.ndarray | None = None
    saving: np.ndarray | None = None

    def chosen(self) -> np.ndarray:
        """The decided class of each case, or the most probable, int64 (n,)."""
        if self.decided is not None:
            return np.asarray(self.decided, dtype=np.int64)
        assert self.proba is not None
        return np.asarray(self.proba).argmax(axis=1)


@dataclass(frozen=True)
class StopReason:
    """Why one case stops.

    Attributes
    ----------
    rule : one of `RULES`
    text : the reason in a sentence
    feature, price, saving : the measurement the reason speaks of (money: the best; budget: the cheapest), or None
    label, probability : the class the reason speaks of and its probability, or None
    """

    rule: str
    text: str
    feature: str | None = None
    price: float | None = None
    saving: float | None = None
    label: Any = None
    probability: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Stops:
    """The answer for n cases.

    Attributes
    ----------
    stop : bool (n,)
    rule : int8 (n,)
        Index into `RULES` of the reason, -1: go on.
    fired : bool (n, len(RULES))
        All rules that say stop.
    best : int64 (n,)
        The affordable open feature with the largest saving minus price, -1 without savings or without such a feature.
    """

    stop: np.ndarray
    rule: np.ndarray
    fired: np.ndarray
    best: np.ndarray
    settings: StopRule
    states: States

    def reason(self, i: int) -> StopReason | None:
        """Why case i stops; None if it goes on."""
        return _reason(self, i) if self.stop[i] else None


@dataclass(frozen=True)
class StopRule:
    """When it is enough; rules that are not set never fire.

    Parameters
    ----------
    budget : float, default=None
        Most that a case may cost. A case stops when nothing open fits what is left.
    max_measurements : int, default=None
        Largest number of measurements.
    probability : float in (0, 1], default=None
        Stop when the decided class has at least this probability.
    money : bool, default=False
        Stop when no affordable measurement is expected to save more than it costs.
    floor : Floor, default=None
        Stop when a case is ruled in or out by a calibrated floor.
    changes : float in [0, 1], default=None
        Where the probability was learnt: the share of the cases stopped by it whose decision going on would change.

    Examples
    --------
    >>> states = States(
    ...     ["thal"], ["healthy", "disease"], price=np.array([[102.9]]), open=np.array([[True]]),
    ...     measured=np.array([3]), saving=np.array([[41.2]]),
    ... )
    >>> StopRule(money=True).check(states).reason(0).text
    'Stop: the best remaining test (thal, 102.90) is expected to save 41.20.'
    """

    budget: float | None = None
    max_measurements: int | None = None
    probability: float | None = None
    money: bool = False
    floor: Floor | None = None
    changes: float | None = None

    def __post_init__(self) -> None:
        if self.budget is not None and not (_is_number(self.budget) and self.budget >= 0):
            raise SynafaError(f"The budget must be a number of at least 0, got: {self.budget!r}.")
        if self.max_measurements is not None and not (
            _is_number(self.max_measurements) and self.max_measurements >= 0 and self.max_measurements % 1 == 0
        ):
            raise SynafaError(f"max_measurements must be a whole number of at least 0, got: {self.max_measurements!r}.")
        if self.probability is not None and not (_is_number(self.probability) and 0 < self.probability <= 1):
            raise SynafaError(f"probability must be above 0 and at most 1 (95 % is 0.95), got: {self.probability!r}.")
        if self.changes is not None and not (_is_number(self.changes) and 0 <= self.changes <= 1):
            raise SynafaError(f"changes must be a share from 0 to 1, got: {self.changes!r}.")
        if self.floor is not None and not self.floor.reached:
            raise SynafaError(self.floor.text)

    def check(self, states: States) -> Stops:
        """Which cases stop, and why.

        Raises
        ------
        SynafaError
            If a rule needs what `states` does not hold.
        """
        open_, price = np.asarray(states.open, dtype=bool), np.asarray(states.price, dtype=np.float64)
        within = open_ & affordable(price, self._remaining(states, len(open_)))
        fired = np.zeros((len(open_), len(RULES)), dtype=bool)
        fired[:, COMPLETE] = ~open_.any(axis=1)
        fired[:, BUDGET] = ~within.any(axis=1) & open_.any(axis=1)
        if self.floor is not None:
            fired[:, FLOOR] = self.floor.fires(self._proba(states, "floor")[:, _position(self.floor, states)])
        if self.probability is not None:
            proba = self._proba(states, "probability")
            fired[:, PROBABILITY] = proba[np.arange(len(proba)), states.chosen()] >= self.probability - 1e-12
        if self.max_measurements is not None:
            fired[:, MAX_MEASUREMENTS] = np.asarray(states.measured) >= self.max_measurements
        best = np.full(len(open_), -1)
        if states.saving is not None and open_.shape[1]:
            net = np.where(within, np.asarray(states.saving, dtype=np.float64) - price, -np.inf)
            best = np.where(within.any(axis=1), net.argmax(axis=1), -1)
            if self.money:
                fired[:, MONEY] = (net.max(axis=1) <= TOLERANCE) & within.any(axis=1)
        elif self.money and states.saving is None:
            raise SynafaError("Stopping by money needs error costs; say what wrong decisions cost.")
        stop = np.asarray(fired.any(axis=1))
        rule = np.where(stop, fired.argmax(axis=1), -1).astype(np.int8)
        return Stops(stop, rule, fired, best, self, states)

    def describe(self) -> str:
        """The rules in a sentence."""
        parts = []
        if self.budget is not None:
            parts.append(f"the budget of {amount(self.budget)} pays for nothing more")
        if self.floor is not None:
            ruled = "in" if self.floor.kind == "ppv" else "out"
            parts.append(f"{self.floor.label} is ruled {ruled} (a floor of {percent(self.floor.floor)})")
        if self.probability is not None:
            parts.append(f"a class has a probability of {percent(self.probability)}")
        if self.max_measurements is not None:
            made = int(self.max_measurements)
            parts.append(f"{_count(made)} {'was' if made == 1 else 'were'} made")
        if self.money:
            parts.append("no measurement is expected to save more than it costs")
        return f"Stops when {', or '.join(parts or ['nothing is left to measure'])}."

    def to_meta(self) -> dict[str, Any]:
        """JSON values from which `from_meta` makes the same rule."""
        meta = dict(self.__dict__)
        return meta | {"floor": None if self.floor is None else self.floor.to_meta()}

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> StopRule:
        """The rule that `to_meta` described."""
        floor = meta.get("floor")
        try:
            return cls(**(dict(meta) | {"floor": None if floor is None else Floor.from_meta(floor)}))
        except TypeError as error:
            raise SynafaError(f"The stored stop rule cannot be read ({error}); fit the model again.") from error

    def _remaining(self, states: States, n: int) -> np.ndarray:
        if states.remaining is not None:
            return np.asarray(states.remaining, dtype=np.float64)
        if self.budget is None:
            return np.full(n, np.inf)
        if states.spent is None:
            raise SynafaError("Stopping by budget needs what was spent or what remains.")
        return self.budget - np.asarray(states.spent, dtype=np.float64)

    @staticmethod
    def _proba(states: States, rule: str) -> np.ndarray:
        if states.proba is None:
            raise SynafaError(f"Stopping by {rule} needs class probabilities; fit the model with a predictor.")
        return np.asarray(states.proba, dtype=np.float64)


def _reason(stops: Stops, i: int) -> StopReason:
    """The structured reason of a case that stops, with its sentence."""
    rule, states, settings = int(stops.rule[i]), stops.states, stops.settings
    name = RULES[rule]
    if rule == COMPLETE:
        return StopReason(name, "Stop: nothing is left to measure.")
    if rule == BUDGET:
        left = max(0.0, float(settings._remaining(states, len(stops.stop))[i]))
        cheapest = int(np.where(states.open[i], states.price[i], np.inf).argmin())
        feature, price = str(states.feature_names[cheapest]), float(states.price[i, cheapest])
        text = (
            f"Budget spent: {amount(left)} is left and the cheapest remaining test ({feature}) costs {amount(price)}."
        )
        return StopReason(name, text, feature=feature, price=price)
    if rule == FLOOR:
        floor = settings.floor
        assert floor is not None
        assert states.proba is not None
        p = float(states.proba[i, _position(floor, states)])
        ruled = "ruled in" if floor.kind == "ppv" else "ruled out"
        kinds = {
            "sensitivity": "a sensitivity",
            "ppv": "a positive predictive value",
            "npv": "a negative predictive value",
        }
        text = (
            f"Enough: {floor.label} is {ruled} at {percent(p)}, which keeps {kinds[floor.kind]} of at least "
            f"{percent(floor.floor)} with {percent(floor.confidence)} confidence."
        )
        return StopReason(name, text, label=floor.label, probability=p)
    if rule == PROBABILITY:
        assert states.proba is not None
        assert settings.probability is not None
        k = int(states.chosen()[i])
        label, p = states.classes[k], float(states.proba[i, k])
        why = f" (asked for: {percent(settings.probability)})"
        if settings.changes is not None:
            why = f"; of cases this sure, going on would change {one_in(settings.changes)}"
        text = f"Enough: {percent(p)} sure of {label}{why}."
        return StopReason(name, text, label=label, probability=p)
    if rule == MAX_MEASUREMENTS:
        made, most = int(states.measured[i]), settings.max_measurements
        return StopReason(name, f"Stop: {_count(made)} made, and at most {most:g} are allowed.")
    assert states.saving is not None
    j = int(stops.best[i])
    feature, price, saving = str(states.feature_names[j]), float(states.price[i, j]), float(states.saving[i, j])
    text = f"Stop: the best remaining test ({feature}, {amount(price)}) is expected to save {amount(max(saving, 0.0))}."
    return StopReason(name, text, feature=feature, price=price, saving=saving)


def _position(floor: Floor, states: States) -> int:
    names = [label_text(label) for label in states.classes]
    if label_text(floor.label) not in names:
        raise SynafaError(f"The floor is for {floor.label!r}, which is none of the classes.")
    return names.index(label_text(floor.label))


def _count(n: int) -> str:
    return "1 measurement" if n == 1 else f"{n} measurements"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
