"""The decision rule for very wide tables: the same decisions, from what decisions can reach (`reach.py`).

Where more features are out than the kept entries allow for, a fitted policy counts whole rows from its training rows,
and a model that was read from a file says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.wide import PackedRows
from synafa.money.prices import TOLERANCE
from synafa.policy.question import Question
from synafa.policy.reach import Kept, choose, pair_scores
from synafa.policy.recommendation import Recommendation
from synafa.policy.rule import Decision, Mask, Rule

_PARTS = tuple(field.name for field in fields(Kept) if field.name != "reach")


@dataclass(frozen=True, eq=False, kw_only=True)
class WideRule(Rule):
    """A rule with the entries of `pair` and `cond` that decisions can reach.

    `rows` gives whole rows of the tables, and `tail` (D,) the most that a pair of each feature that was not kept can
    score; both are None in a model that was read from a file.
    """

    kept: Kept
    rows: PackedRows | None = None
    tail: np.ndarray | None = None

    @classmethod
    def of_rows(cls, rows: PackedRows, progress: Any = None, **settings: Any) -> WideRule:
        """The rule of packed training rows; `settings` are the fields of `Rule`."""
        asked = Question(**{field.name: settings[field.name] for field in fields(Question)})
        kept, tail = choose(rows, asked, progress)
        return cls(kept=kept, rows=rows, tail=tail, **settings)

    @property
    def sentence(self) -> str:
        """What is kept, for a reader."""
        return (
            f"Of the pairs of its {self.n_features:,} features this model keeps those that decisions can reach while "
            f"at most {self.kept.reach:,} features are known or cannot be had."
        )

    def recommend(
        self, observed: np.ndarray, codes: np.ndarray, remaining: float, unavailable: Mask = None, failed: Mask = None
    ) -> Recommendation:
        """As for any rule; a model that was read from a file notes what it keeps."""
        found = super().recommend(observed, codes, remaining, unavailable, failed)
        return found if self.rows is not None else replace(found, note=self.sentence)

    def with_cost_weight(self, cost_weight: float) -> WideRule:
        if self.rows is None:
            raise SynafaError(f"{self.sentence} Another cost_weight needs others; fit the policy again with it.")
        settings = {field.name: getattr(self, field.name) for field in fields(Rule)}
        return self.of_rows(self.rows, **settings | {"cost_weight": cost_weight})

    @cached_property
    def pair_scores(self) -> np.ndarray:
        """Scores of the kept pairs, descending."""
        kept = self.kept
        return pair_scores(kept.pair_bits, self.costs, self.cost_weight, kept.pair_first, kept.pair_second)

    def n_out(self, hidden: np.ndarray) -> int:
        """Features that are known or cannot be had, beside those that never can."""
        return int((~(hidden | self.unavailable)).sum())

    def _deciding_scores(
        self, observed: np.ndarray, codes: np.ndarray, hidden: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        out = self.n_out(hidden)
        if out > self.kept.reach:
            if self.rows is None:
                raise SynafaError(
                    f"{self.sentence} Here it is {out:,}; ask the fitted policy, or fit with a larger budget."
                )
            return self.scores(observed, codes)
        scores, given = self.single.copy(), np.full(self.n_features, -1)
        for k in self.with_result(observed, codes):
            feature, bits = self.kept_cond(int(k), int(codes[k]))
            better = bits > scores[feature]
            scores[feature[better]] = bits[better]
            given[feature[better]] = k
        return scores, given

    def kept_cond(self, k: int, code: int) -> tuple[np.ndarray, np.ndarray]:
        """The features that gain from an observed value, and what they then tell."""
        begin, end = self.kept.cond_start[k * self.n_bins + code :][:2]
        return self.kept.cond_feature[begin:end], self.kept.cond_bits[begin:end]

    def cond_row(self, k: int, code: int) -> np.ndarray:
        """I(Y; X_j | X_k = code) of all j; without training rows 0 where nothing was kept."""
        if self.rows is not None:
            return self.rows.cond_row(k, code)
        row = np.zeros(self.n_features)
        feature, bits = self.kept_cond(k, code)
        row[feature] = bits
        return row

    def pair_bits(self, j: int, k: int) -> float:
        if self.rows is not None:
            return float(self.rows.pair_row(j)[k])
        at = (self.kept.pair_first == min(j, k)) & (self.kept.pair_second == max(j, k))
        return float(self.kept.pair_bits[np.argmax(at)])

    def _better_pair(self, hidden: np.ndarray, costs: np.ndarray, remaining: float, best: Decision) -> Decision:
        first, second = self.kept.pair_first, self.kept.pair_second
        allowed = hidden[first] & hidden[second]
        if self.affordability != "deployed":
            allowed &= self.costs[first] + self.costs[second] <= remaining + TOLERANCE
        at = int(np.argmax(allowed)) if allowed.any() else -1
        found = (best.score, -1, -1)
        if at >= 0 and self.pair_scores[at] > best.score:
            found = float(self.pair_scores[at]), int(first[at]), int(second[at])
        if self.n_out(hidden) > self.kept.reach:
            found = self._search_rows(hidden, remaining, found)
        score, j, k = found
        return best if j < 0 else self._of_pair(j, k, score)

    def _search_rows(
        self, hidden: np.ndarray, remaining: float, found: tuple[float, int, int]
    ) -> tuple[float, int, int]:
        """The best pair of hidden features, starting from the best kept one; rows that cannot hold it are passed by."""
        assert self.rows is not None
        assert self.tail is not None
        for j in np.argsort(-self.tail, kind="stable"):
            if self.tail[j] <= 0 or self.tail[j] < found[0]:
                break
            if not hidden[j]:
                continue
            scores = self.rows.pair_row(int(j)) - self.cost_weight * (self.costs[j] + self.costs)
            allowed = hidden.copy()
            allowed[j] = False
            if self.affordability != "deployed":
                allowed &= self.costs[j] + self.costs <= remaining + TOLERANCE
            k = int(np.argmax(np.where(allowed, scores, -np.inf)))
            pair = (float(scores[k]), min(int(j), k), max(int(j), k))
            if allowed[k] and (pair[0] > found[0] or (pair[0] == found[0] and found[1] >= 0 and pair[1:] < found[1:])):
                found = pair
        return found

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, meta = super().to_arrays()
        parts = {name: getattr(self.kept, name) for name in _PARTS}
        return arrays | parts, meta | {"reach": self.kept.reach, "kept": self.sentence}

    @classmethod
    def _own_parts(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> dict[str, Any]:
        return {"kept": Kept(int(meta["reach"]), **{name: arrays[name] for name in _PARTS})}

    def _fits(self) -> bool:
        return len(self.kept.cond_start) == self.n_features * self.n_bins + 1
