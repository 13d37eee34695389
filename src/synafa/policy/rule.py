"""The decision rule: from the information tables and what is known to the next feature and the reason for it.

    single proposal: max(single[j], max over observed k of cond[j, k, x_k]) - cost_weight * cost[j]
    pair proposal:   pair[j, k] - cost_weight * (cost[j] + cost[k]), for j and k both unobserved

The best proposal above zero wins, a pair only if strictly better than every single; of a pair the member with the
larger `single` is acquired. This module needs NumPy alone, so that a saved model answers without compiling anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.policy.branches import BRANCHES, CONDITIONAL, PAIR, SINGLE
from synafa.table.encoder import TableEncoder
from synafa.table.names import close_names

AFFORDABILITY = ("deployed", "pairs", "strict")
TOLERANCE = 1e-9  # of a cost that should just fit


@dataclass(frozen=True)
class Recommendation:
    """What to measure next and why; `feature` is None when it is time to stop.

    Attributes
    ----------
    feature, cost : what to measure and its price
    score : bits minus cost_weight * cost; for a pair, of both members
    information : bits that the proposal promises
    branch : "single", "conditional", "pair" or "stop"
    partner : the other member of the pair, for branch "pair"
    given : the observed feature that makes this one informative, for branch "conditional"
    remaining : budget before this measurement
    text : the reason in plain words
    """

    feature: str | None
    cost: float
    score: float
    information: float
    branch: str
    partner: str | None
    given: str | None
    remaining: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Decision:
    """A decision by index: feature -1 for stop, `other` the partner or the conditioning feature or -1."""

    feature: int
    branch: int
    score: float
    other: int


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """Everything that a decision depends on.

    `single` (D,), `pair` (D, D), `cond` (D, D, bins) in bits; `costs` (D,); `edges` (D, bins - 1); `known` (D,)
    features that cost nothing and are known from the start; `unavailable` (D,) features that are never acquired.
    """

    encoder: TableEncoder
    classes: tuple[Any, ...]
    single: np.ndarray
    pair: np.ndarray
    cond: np.ndarray
    costs: np.ndarray
    edges: np.ndarray
    known: np.ndarray
    unavailable: np.ndarray
    budget: float
    cost_weight: float
    pair_branch: bool
    affordability: str
    target: str = field(default="the class")

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.encoder.feature_names_

    @property
    def n_features(self) -> int:
        return len(self.single)

    @cached_property
    def pair_scores(self) -> np.ndarray:
        """pair - cost_weight * (cost + cost), (D, D)."""
        return self.pair - self.cost_weight * (self.costs[:, None] + self.costs[None, :])

    @cached_property
    def cond_by_value(self) -> np.ndarray:
        """cond as (D, bins, D): the scores that every feature gets from one observed value, contiguous."""
        return np.ascontiguousarray(self.cond.transpose(1, 2, 0))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of encoded rows, uint8 (n, D); NaN is filled first."""
        filled = self.encoder.fill(values)
        return (filled[:, :, None] > self.edges).sum(axis=2).astype(np.uint8)

    def scores(self, observed: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bits of every feature in a state, and the observed feature behind them (-1: the feature's own `single`)."""
        scores = self.single.copy()
        given = np.full(self.n_features, -1)
        for k in np.flatnonzero(observed):
            from_k = self.cond_by_value[k, codes[k]]
            better = from_k > scores
            scores[better] = from_k[better]
            given[better] = k
        return scores, given

    def decide(
        self, observed: np.ndarray, codes: np.ndarray, remaining: float, unavailable: np.ndarray | None = None
    ) -> Decision:
        """The next feature of one row; `codes` matters only where `observed`."""
        hidden = ~(observed | self.unavailable)
        if unavailable is not None:
            hidden &= ~unavailable
        scores, given = self.scores(observed, codes)
        net = scores - self.cost_weight * self.costs
        allowed = hidden & (self.costs <= remaining + TOLERANCE) if self.affordability == "strict" else hidden
        best = Decision(-1, -1, 0.0, -1)
        net = np.where(allowed, net, -np.inf)
        feature = int(np.argmax(net))
        if net[feature] > 0:
            branch = SINGLE if given[feature] < 0 else CONDITIONAL
            best = Decision(feature, branch, float(net[feature]), int(given[feature]))
        return self._better_pair(np.flatnonzero(allowed), remaining, best) if self.pair_branch else best

    def _better_pair(self, members: np.ndarray, remaining: float, best: Decision) -> Decision:
        """The best pair of `members` if it beats `best`, else `best`."""
        if len(members) < 2:
            return best
        scores = np.triu(self.pair_scores[np.ix_(members, members)], k=1)
        allowed = np.triu(np.ones_like(scores, dtype=bool), k=1)
        if self.affordability != "deployed":
            costs = self.costs[members]
            allowed &= costs[:, None] + costs[None, :] <= remaining + TOLERANCE
        scores = np.where(allowed, scores, -np.inf)
        first, second = divmod(int(np.argmax(scores)), len(members))
        score = float(scores[first, second])
        if not score > best.score:
            return best
        j, k = int(members[first]), int(members[second])
        return Decision(k, PAIR, score, j) if self.single[k] > self.single[j] else Decision(j, PAIR, score, k)

    def next_feature(
        self,
        observed: Mapping[str, Any] | None = None,
        *,
        remaining: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> Recommendation:
        """The next feature given named values; what was observed is taken off the budget unless `remaining` says."""
        values = np.full(self.n_features, np.nan)
        seen = np.zeros(self.n_features, bool)
        for name, value in (observed or {}).items():
            j = self.index(name)
            seen[j] = True
            values[j] = self.encoder.encode_value(name, value)
            if np.isnan(values[j]):
                raise SynafaError(f"{value!r} is not a value of {name!r} seen in training{self._categories(name)}.")
        if remaining is None:
            remaining = self.budget - float(self.costs[seen & ~self.known].sum())
        elif not np.isfinite(remaining) or remaining < 0:
            raise SynafaError(f"remaining must be a number of at least 0, got: {remaining!r}.")
        blocked = np.zeros(self.n_features, bool)
        for name in unavailable:
            blocked[self.index(name)] = True
        codes = self.codes(values[None])[0]
        return self.explain(self.decide(seen, codes, remaining, blocked), values, float(remaining))

    def explain(self, decision: Decision, values: np.ndarray, remaining: float) -> Recommendation:
        """A decision in plain words; `values` are the encoded values of the row, NaN where unknown."""
        if decision.feature < 0:
            text = f"Stop: nothing that is left promises more about {self.target} than it costs."
            if self.affordability == "strict" and not (self.costs <= remaining + TOLERANCE).any():
                text = f"Stop: the remaining budget of {remaining:g} pays for nothing more."
            return Recommendation(None, 0.0, 0.0, 0.0, "stop", None, None, remaining, text)
        j, other = decision.feature, decision.other
        name, cost = self.feature_names[j], float(self.costs[j])
        partner = given = None
        if decision.branch == PAIR:
            partner = self.feature_names[other]
            bits = float(self.pair[j, other])
            why = (
                f"together with {partner} it tells {_bits(bits)} bits about {self.target}"
                f" (alone {_bits(self.single[j])} and {_bits(self.single[other])})"
            )
        elif decision.branch == CONDITIONAL:
            given = self.feature_names[other]
            bits = decision.score + self.cost_weight * cost
            why = (
                f"given {self.describe_value(other, values[other])}, it tells {_bits(bits)} bits about {self.target}"
                f" (without that {_bits(self.single[j])})"
            )
        else:
            bits = float(self.single[j])
            why = f"it tells {_bits(bits)} bits about {self.target} by itself"
        head = f"Tell {name} (known from the start)" if self.known[j] else f"Measure {name} (cost {cost:g})"
        text = f"{head}: {why}."
        branch = BRANCHES[decision.branch]
        return Recommendation(name, cost, decision.score, bits, branch, partner, given, remaining, text)

    def index(self, name: str) -> int:
        """The position of a feature; an unknown name is an error that offers close ones."""
        try:
            return self.feature_names.index(name)
        except ValueError:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, self.feature_names)}.") from None

    def describe_value(self, j: int, value: float) -> str:
        """The bin of a value in words, e.g. `GCS <= 11.5`, or `sex = f` for text."""
        return self.describe_code(j, int((value > self.edges[j]).sum()))

    def describe_code(self, j: int, code: int) -> str:
        """A code in words: an interval of numbers, or the categories that share it."""
        name = self.feature_names[j]
        categories = self.encoder.categories_.get(name)
        edges = self.edges[j][np.isfinite(self.edges[j])]
        if categories:
            inside = [c for i, c in enumerate(categories) if int((i > edges).sum()) == code]
            return f"{name} = {' or '.join(inside)}" if len(inside) <= 3 else f"{name} in {', '.join(inside)}"
        if not len(edges):
            return f"{name} is anything"
        if code == 0:
            return f"{name} <= {edges[0]:.4g}"
        if code >= len(edges):
            return f"{name} > {edges[-1]:.4g}"
        return f"{edges[code - 1]:.4g} < {name} <= {edges[code]:.4g}"

    def _categories(self, name: str) -> str:
        categories = self.encoder.categories_.get(name, ())
        return f"; the values are: {', '.join(categories[:12])}" if categories else ""

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values from which `from_arrays` makes the same rule."""
        names = ("single", "pair", "cond", "costs", "edges", "known", "unavailable")
        classes = [c.item() if isinstance(c, np.generic) else c for c in self.classes]
        settings = {
            "budget": self.budget,
            "cost_weight": self.cost_weight,
            "pair_branch": self.pair_branch,
            "affordability": self.affordability,
            "target": self.target,
        }
        meta = {"columns": self.encoder.to_meta(), "classes": classes, **settings}
        return {name: getattr(self, name) for name in names}, meta

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> DecisionRule:
        """The rule that `to_arrays` described; shapes that do not fit together are refused."""
        try:
            encoder = TableEncoder.from_meta(meta["columns"])
            rule = cls(
                encoder=encoder,
                classes=tuple(meta["classes"]),
                single=arrays["single"],
                pair=arrays["pair"],
                cond=arrays["cond"],
                costs=arrays["costs"],
                edges=arrays["edges"],
                known=arrays["known"],
                unavailable=arrays["unavailable"],
                budget=float(meta["budget"]),
                cost_weight=float(meta["cost_weight"]),
                pair_branch=bool(meta["pair_branch"]),
                affordability=str(meta["affordability"]),
                target=str(meta["target"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SynafaError("The model's decision rule is damaged; fit and save the model again.") from error
        d, bins = rule.n_features, rule.cond.shape[-1]
        shapes = {"pair": (d, d), "cond": (d, d, bins), "costs": (d,), "edges": (d, bins - 1)}
        fits = all(getattr(rule, name).shape == shape for name, shape in shapes.items())
        if not fits or len(encoder.columns_) != d or rule.affordability not in AFFORDABILITY:
            raise SynafaError("The model's decision rule is damaged; fit and save the model again.")
        return rule


def _bits(value: float) -> str:
    """Information for a reader: three decimals, and no powers of ten for what is next to nothing."""
    return f"{value:.3f}" if value >= 0.0005 else "under 0.001"
