"""The decision rule: from the information tables and what is known to the next feature and the reason for it.

    single proposal: max(single[j], max over observed k of cond[j, k, x_k]) - cost_weight * cost[j]
    pair proposal:   pair[j, k] - cost_weight * (cost[j] + cost[k]), for j and k both unobserved

The best proposal above zero wins, a pair only if strictly better than every single; of a pair the member with the
larger `single` is acquired. With panels and groups a cost is the price now, and that of a pair is the price of its
first member plus the price of the other one after it. This module needs NumPy alone, so that a saved model answers
without compiling anything.
`DecisionRule` holds the tables whole; `wide_rule.WideRule` only what decisions can reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from synafa.errors import SynafaError
from synafa.money.prices import TOLERANCE, PriceList
from synafa.policy.branches import BRANCHES, CONDITIONAL, PAIR, SINGLE
from synafa.policy.question import Question
from synafa.policy.recommendation import NOTHING_LEFT, NOTHING_PAYS, UNAFFORDABLE, Recommendation
from synafa.table.encoder import TableEncoder
from synafa.table.names import close_names

# How far a budget binds: not at all before the purchase, for pairs as a whole, for every proposal.
AFFORDABILITY = ("deployed", "pairs", "strict")

Mask = np.ndarray | None


@dataclass(frozen=True)
class Decision:
    """A decision by index: feature -1 for stop, `other` the partner or the conditioning feature or -1."""

    feature: int
    branch: int
    score: float
    other: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(Question):
    """Everything that a decision depends on, but for what is told by pairs and by known values.

    `edges` (D, bins - 1); `prices` the price list where there are panels or groups (then `costs` are its list prices),
    else None.
    """

    encoder: TableEncoder
    classes: tuple[Any, ...]
    edges: np.ndarray
    target: str = field(default="the class")
    prices: PriceList | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.encoder.feature_names_

    @property
    def n_features(self) -> int:
        return len(self.single)

    @cached_property
    def costs_in_group(self) -> np.ndarray:
        """The price of each feature once a member of its group was paid, (D,)."""
        return self.costs if self.prices is None else np.where(self.known, 0.0, self.prices.price_in_group)

    @cached_property
    def second(self) -> np.ndarray:
        """bool (D, D): whether k, not j, is acquired first of the pair j < k."""
        return self.single[None, :] > self.single[:, None]

    def costs_now(self, observed: np.ndarray) -> np.ndarray:
        """What asking for each feature costs in a state, (D,); what is known from the start paid no group."""
        if self.prices is None:
            return self.costs
        return np.where(self.known, 0.0, self.prices.now(observed & ~self.known))

    def pair_costs(self, costs: np.ndarray) -> np.ndarray:
        """What both members cost at the prices `costs`, (D, D), in the order in which they are acquired."""
        if self.prices is None:
            return costs[:, None] + costs[None, :]
        group = self.prices.group
        shared = (group[:, None] == group[None, :]) & (group >= 0)[:, None] & ~self.known[:, None]
        after = np.where(shared, self.costs_in_group[None, :], costs[None, :])  # [j, k]: k once j was asked
        after = np.where(self.reveals, 0.0, after)
        return np.where(self.second, costs[None, :] + after.T, costs[:, None] + after)

    @cached_property
    def reveals(self) -> np.ndarray:
        """bool (D, D): row j holds all that asking for feature j reveals; telling what was known reveals itself."""
        alone = np.eye(self.n_features, dtype=bool)
        return alone if self.prices is None else (self.prices.reveals & ~self.known[:, None]) | alone

    def spent(self, observed: np.ndarray) -> float:
        """The least that what is known can have cost."""
        paid = observed & ~self.known
        if self.prices is None:
            return float(self.costs[paid].sum())
        return self.prices.cost_of(np.flatnonzero(paid).tolist())

    @property
    def n_bins(self) -> int:
        return self.edges.shape[1] + 1

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of encoded rows, uint8 (n, D); NaN, no result, has the code `n_bins`."""
        codes = (values[:, :, None] > self.edges).sum(axis=2)
        return np.where(np.isnan(values), self.n_bins, codes).astype(np.uint8)

    def with_result(self, observed: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The observed features of a row that gave a result; the others were paid and tell nothing."""
        return np.flatnonzero(observed & (codes < self.n_bins))

    def scores(self, observed: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bits of every feature in a state, and the observed feature behind them (-1: the feature's own `single`)."""
        scores = self.single.copy()
        given = np.full(self.n_features, -1)
        for k in self.with_result(observed, codes):
            from_k = self.cond_row(int(k), int(codes[k]))
            better = from_k > scores
            scores[better] = from_k[better]
            given[better] = k
        return scores, given

    def _deciding_scores(
        self, observed: np.ndarray, codes: np.ndarray, hidden: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """`scores`, right at least for the hidden feature that wins."""
        return self.scores(observed, codes)

    def with_cost_weight(self, cost_weight: float) -> Self:
        """The rule of another cost weight."""
        return replace(self, cost_weight=cost_weight)

    def cond_row(self, k: int, code: int) -> np.ndarray:
        """I(Y; X_j | X_k = code) of all j, float64 (D,)."""
        raise NotImplementedError

    def pair_bits(self, j: int, k: int) -> float:
        """I(X_j, X_k; Y)."""
        raise NotImplementedError

    def decide(
        self, observed: np.ndarray, codes: np.ndarray, remaining: float, unavailable: Mask = None, failed: Mask = None
    ) -> Decision:
        """The next feature of one row; `codes` matters only where `observed`.

        What `failed` was paid and gave no result, as what is observed with the code `n_bins`.
        """
        paid = observed if failed is None else observed | failed
        hidden = ~(paid | self.unavailable)
        if unavailable is not None:
            hidden &= ~unavailable
        scores, given = self._deciding_scores(observed, codes, hidden)
        costs = self.costs_now(paid)
        net = scores - self.cost_weight * costs
        allowed = hidden & (costs <= remaining + TOLERANCE) if self.affordability == "strict" else hidden
        best = Decision(-1, -1, 0.0, -1)
        net = np.where(allowed, net, -np.inf)
        feature = int(np.argmax(net))
        if net[feature] > 0:
            branch = SINGLE if given[feature] < 0 else CONDITIONAL
            best = Decision(feature, branch, float(net[feature]), int(given[feature]))
        return self._better_pair(hidden, costs, remaining, best) if self.pair_branch else best

    def _better_pair(self, hidden: np.ndarray, costs: np.ndarray, remaining: float, best: Decision) -> Decision:
        """The best pair of hidden features at the prices `costs` if it beats `best`, else `best`."""
        raise NotImplementedError

    def _of_pair(self, j: int, k: int, score: float) -> Decision:
        """The decision that a pair j < k is: its member that tells more alone comes first."""
        return Decision(k, PAIR, score, j) if self.single[k] > self.single[j] else Decision(j, PAIR, score, k)

    def next_feature(
        self,
        observed: Mapping[str, Any] | None = None,
        *,
        remaining: float | None = None,
        unavailable: str | Iterable[str] = (),
    ) -> Recommendation:
        """The next feature given named values; what was observed is taken off the budget unless `remaining` says.

        A value of None stands for a measurement that was paid and gave no result.
        """
        values = np.full(self.n_features, np.nan)
        seen, failed = np.zeros(self.n_features, bool), np.zeros(self.n_features, bool)
        for name, value in (observed or {}).items():
            j = self.index(name)
            if value is None or (isinstance(value, float) and np.isnan(value)):
                failed[j] = True
                continue
            seen[j] = True
            values[j] = self.encoder.encode_value(name, value)
            if np.isnan(values[j]):
                raise SynafaError(f"{value!r} is not a value of {name!r} seen in training{self._categories(name)}.")
        blocked = name_mask(unavailable, self.feature_names)
        left = self.budget - self.spent(seen | failed)
        if remaining is not None:
            left = check_amount("remaining", remaining)
        return self.recommend(seen, self.codes(values[None])[0], left, blocked, failed)

    def recommend(
        self, observed: np.ndarray, codes: np.ndarray, remaining: float, unavailable: Mask = None, failed: Mask = None
    ) -> Recommendation:
        """The next feature of one row with its reason; a proposal that does not fit the budget is a stop."""
        decision = self.decide(observed, codes, remaining, unavailable, failed)
        paid = observed if failed is None else observed | failed
        costs = self.costs_now(paid)
        if decision.feature >= 0 and costs[decision.feature] <= remaining + TOLERANCE:
            return self._proposal(decision, codes, remaining, float(costs[decision.feature]))
        if decision.feature < 0:  # would anything be worth its price if money did not matter?
            decision = self.decide(observed, codes, np.inf, unavailable, failed)
        if decision.feature >= 0:
            return self._unaffordable(decision, codes, remaining, costs)
        out = paid | self.unavailable if unavailable is None else paid | self.unavailable | unavailable
        reason = NOTHING_LEFT if out.all() else NOTHING_PAYS
        return Recommendation(feature=None, stop_reason=reason, remaining=remaining, target=self.target)

    def _proposal(self, decision: Decision, codes: np.ndarray, remaining: float, cost: float) -> Recommendation:
        j, other = decision.feature, decision.other
        more: dict[str, Any] = {}
        if decision.branch == PAIR:
            more = {"partner": self.feature_names[other], "partner_alone": float(self.single[other])}
        elif decision.branch == CONDITIONAL:
            condition = self.describe_code(other, int(codes[other]))
            more = {"given": self.feature_names[other], "condition": condition}
        return Recommendation(
            feature=self.feature_names[j],
            why=BRANCHES[decision.branch],
            cost=cost,
            score=decision.score,
            information=self._information(decision, codes),
            alone=float(self.single[j]),
            known_at_start=bool(self.known[j]),
            remaining=remaining,
            target=self.target,
            **more,
        )

    def _unaffordable(
        self, decision: Decision, codes: np.ndarray, remaining: float, costs: np.ndarray
    ) -> Recommendation:
        wanted, price = [decision.feature], costs[decision.feature]
        if decision.branch == PAIR:
            wanted = [decision.feature, decision.other]
            plain = self.prices is None  # then no matrix of prices is made
            price = costs[wanted].sum() if plain else self.pair_costs(costs)[min(wanted), max(wanted)]
        return Recommendation(
            feature=None,
            stop_reason=UNAFFORDABLE,
            wanted=tuple(self.feature_names[j] for j in wanted),
            wanted_cost=float(price),
            wanted_information=self._information(decision, codes),
            remaining=remaining,
            target=self.target,
        )

    def _information(self, decision: Decision, codes: np.ndarray) -> float:
        """The bits that a proposal promises."""
        j, other = decision.feature, decision.other
        if decision.branch == PAIR:
            return self.pair_bits(j, other)
        return float(self.single[j] if decision.branch == SINGLE else self.cond_row(other, int(codes[other]))[j])

    def index(self, name: str) -> int:
        """The position of a feature; an unknown name is an error that offers close ones."""
        try:
            return self.feature_names.index(name)
        except ValueError:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, self.feature_names)}.") from None

    def describe_code(self, j: int, code: int) -> str:
        """A code in words: an interval of numbers, or the categories that share it."""
        name, edges = self.feature_names[j], self._finite_edges(j)
        if code >= self.n_bins:
            return f"{name} gives no result"
        if name not in self.encoder.categories_ and 0 < code < len(edges):
            return f"{edges[code - 1]:.4g} < {name} <= {edges[code]:.4g}"
        return f"{name} {self.describe_result(j, code)}"

    def describe_result(self, j: int, code: int) -> str:
        """A code in words where the feature's name stands already: `<= 11.5`, `3 to 11.5`, `= f`, `no result`."""
        if code >= self.n_bins:
            return "no result"
        categories, edges = self.encoder.categories_.get(self.feature_names[j]), self._finite_edges(j)
        if categories:
            inside = [c for i, c in enumerate(categories) if int((i > edges).sum()) == code]
            return f"= {' or '.join(inside)}" if len(inside) <= 3 else f"in {', '.join(inside)}"
        if not len(edges):
            return "is anything"
        if code == 0:
            return f"<= {edges[0]:.4g}"
        if code >= len(edges):
            return f"> {edges[-1]:.4g}"
        return f"{edges[code - 1]:.4g} to {edges[code]:.4g}"

    def _finite_edges(self, j: int) -> np.ndarray:
        return self.edges[j][np.isfinite(self.edges[j])]

    def _categories(self, name: str) -> str:
        categories = self.encoder.categories_.get(name, ())
        return f"; the values are: {', '.join(categories[:12])}" if categories else ""

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values from which `from_arrays` makes the same rule."""
        classes = [c.item() if isinstance(c, np.generic) else c for c in self.classes]
        meta: dict[str, Any] = {"columns": self.encoder.to_meta(), "classes": classes}
        if self.prices is not None:
            meta["prices"] = self.prices.to_meta()
        return {name: getattr(self, name) for name in _ARRAYS}, meta | {name: getattr(self, name) for name in _SETTINGS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Self:
        """The rule that `to_arrays` described; shapes that do not fit together are refused."""
        try:
            rule = cls(
                encoder=TableEncoder.from_meta(meta["columns"]),
                classes=tuple(meta["classes"]),
                budget=float(meta["budget"]),
                cost_weight=float(meta["cost_weight"]),
                pair_branch=bool(meta["pair_branch"]),
                affordability=str(meta["affordability"]),
                target=str(meta["target"]),
                prices=PriceList.from_meta(meta["prices"]) if meta.get("prices") is not None else None,
                **{name: arrays[name] for name in _ARRAYS},
                **cls._own_parts(arrays, meta),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged() from error
        d = rule.n_features
        listed = rule.prices is None or rule.prices.feature_names == rule.feature_names
        fits = listed and rule.costs.shape == (d,) and rule.edges.ndim == 2 and len(rule.edges) == d and rule._fits()
        if not fits or len(rule.encoder.columns_) != d or rule.affordability not in AFFORDABILITY:
            raise _damaged()
        return rule

    @classmethod
    def _own_parts(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a subclass from what `to_arrays` returned."""
        raise NotImplementedError

    def _fits(self) -> bool:
        """Whether those fields have the shapes they must have."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class DecisionRule(Rule):
    """A rule with the information of all pairs: `pair` (D, D) and `cond` (D, D, bins) in bits."""

    pair: np.ndarray
    cond: np.ndarray

    @cached_property
    def pair_scores(self) -> np.ndarray:
        """pair - cost_weight * (cost + cost), (D, D)."""
        return self.pair - self.cost_weight * (self.costs[:, None] + self.costs[None, :])

    @cached_property
    def cond_by_value(self) -> np.ndarray:
        """cond as (D, bins, D): the scores that every feature gets from one observed value, contiguous."""
        return np.ascontiguousarray(self.cond.transpose(1, 2, 0))

    def cond_row(self, k: int, code: int) -> np.ndarray:
        return self.cond_by_value[k, code]

    def pair_bits(self, j: int, k: int) -> float:
        return float(self.pair[j, k])

    def _better_pair(self, hidden: np.ndarray, costs: np.ndarray, remaining: float, best: Decision) -> Decision:
        members = np.flatnonzero(hidden)
        if len(members) < 2:
            return best
        these, price = np.ix_(members, members), costs[members]
        if self.prices is None:
            together, scores = price[:, None] + price[None, :], self.pair_scores[these]
        else:
            together = self.pair_costs(costs)[these]
            scores = self.pair[these] - self.cost_weight * together
        scores = np.triu(scores, k=1)
        allowed = np.triu(np.ones_like(scores, dtype=bool), k=1)
        if self.affordability != "deployed":
            allowed &= together <= remaining + TOLERANCE
        scores = np.where(allowed, scores, -np.inf)
        first, second = divmod(int(np.argmax(scores)), len(members))
        score = float(scores[first, second])
        if not score > best.score:
            return best
        return self._of_pair(int(members[first]), int(members[second]), score)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, meta = super().to_arrays()
        return arrays | {"pair": self.pair, "cond": self.cond}, meta

    @classmethod
    def _own_parts(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> dict[str, Any]:
        return {"pair": arrays["pair"], "cond": arrays["cond"]}

    def _fits(self) -> bool:
        d = self.n_features
        return self.pair.shape == (d, d) and self.cond.shape == (d, d, self.n_bins)


_ARRAYS = ("single", "costs", "edges", "known", "unavailable")
_SETTINGS = ("budget", "cost_weight", "pair_branch", "affordability", "target")


def _damaged() -> SynafaError:
    return SynafaError("The model's decision rule is damaged; fit and save the model again.")


def check_amount(name: str, value: Any) -> float:
    """A finite number of at least 0 as a float; `name` says what it is."""
    try:
        number = np.nan if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0:
        value = value.item() if isinstance(value, np.generic) else value
        raise SynafaError(f"{name} must be a finite number of at least 0, got: {value!r}.")
    return number


def name_mask(names: str | Iterable[str], known: tuple[str, ...]) -> np.ndarray:
    """bool (D,), True at the named features; a plain string is one name."""
    mask = np.zeros(len(known), bool)
    for name in [names] if isinstance(names, str) else names:
        if name not in known:
            raise SynafaError(f"Unknown feature {name!r}{close_names(str(name), known)}.")
        mask[known.index(name)] = True
    return mask
