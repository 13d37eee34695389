"""The best fixed panel: greedy plans from nothing, from synergistic pairs and from dear features; then swaps.

Information proposes (which pairs are worth a start, which of many features are looked at), utility disposes. Whether
the panel is worth anything is asked of rows it was not chosen on: each half of the rows judges the other's panel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.plan.search import SWAP_PARTNERS, Filled, Plan, Task, best_prefix, fill, improve, in_order

SEARCH_ROWS = 5000
CHOICE_ROWS = 6000
PAIR_BITS = 0.001
PAIRS = 2
WIDE = 64  # more features than this are screened
WIDE_KEPT = 150
DEAR = 12
NOISE_ERRORS = 1.5
CONFIRM_ROWS = 1500  # in each half
CONFIRM_STEPS = 5
FEW_ROWS = 1500
CONFIRM_PARTS = 5
CHEAP = 0.02  # of what errors cost without any measurement: features whose prices add up to no more start together


@dataclass(frozen=True, eq=False)
class Hints:
    """What the information tables say: `single` (D,) in bits, and the pairs of largest synergy, best first."""

    single: np.ndarray
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, single: np.ndarray, pair: np.ndarray, candidates: np.ndarray, most: int = 24) -> Hints:
        """Pairs of candidates whose joint information exceeds the sum by more than `PAIR_BITS`."""
        first, second = np.triu_indices(len(candidates), k=1)
        first, second = candidates[first], candidates[second]
        synergy = pair[first, second] - single[first] - single[second]
        order = np.argsort(-synergy, kind="stable")[:most]
        return cls(single, tuple((int(first[i]), int(second[i])) for i in order if synergy[i] > PAIR_BITS))


@dataclass(frozen=True)
class Root:
    """The chosen panel in order, what its rows gain by it on rows that did not choose it, and that gain's error.

    `eager` is the plan that gains most when prices are left aside: what not everybody should pay for may still be
    worth its price for some.
    """

    plan: Plan
    eager: Plan
    gain: float
    error: float
    candidates: np.ndarray


def find_root(task: Task, hints: Hints, rows: np.ndarray) -> Root:
    """The best fixed panel on `rows`, which are in random order; empty when the rows' halves do not confirm it."""
    task_candidates = screen(task, hints)
    gain, error = (np.inf, 0.0) if task.spend_all else confirm(task, hints, task_candidates, rows)
    filled = fills(task, hints, task_candidates, rows)
    eager = best_of(replace(task, margin=0.0), filled)
    if not task.spend_all and gain <= NOISE_ERRORS * error:
        return Root((), eager, gain, error, task_candidates)
    judged = rows[:CHOICE_ROWS]
    plan = best_of(task, filled)
    partners = swap_partners(task, (), plan, task_candidates, rows[:SEARCH_ROWS])
    plan = improve(task, (), plan, task.budget, judged, partners)
    return Root(in_order(task, (), plan, judged), eager, gain, error, task_candidates)


def screen(task: Task, hints: Hints) -> np.ndarray:
    """The candidates; of very many those with the largest information, and the members of the first pairs."""
    if len(task.candidates) <= WIDE:
        return task.candidates
    best = task.candidates[np.argsort(-hints.single[task.candidates], kind="stable")[:WIDE_KEPT]]
    members = [j for pair in hints.pairs[:PAIRS] for j in pair]
    return np.array(sorted({*best.tolist(), *members}), dtype=np.int64)


def starts(task: Task, hints: Hints, candidates: np.ndarray, asked: Plan = (), left: float | None = None) -> list[Plan]:
    """Where filling begins: nothing, the most synergistic pairs that fit, and with unequal prices each dear feature."""
    left = task.budget if left is None else left
    prices = task.prices
    found: list[Plan] = [()]
    allowed = set(task.options(asked, left, candidates).tolist())
    for j, k in hints.pairs:
        if len(found) <= PAIRS and {j, k} <= allowed and prices.cost((j, k), asked) <= left + TOLERANCE:
            found.append((j, k))
    price = prices.price[candidates]
    if price.max(initial=0.0) > price.min(initial=np.inf) + TOLERANCE:
        dear = [int(j) for j in candidates[price > np.median(price)] if int(j) in allowed]
        dear.sort(key=lambda j: -hints.single[j])
        found += [(j,) for j in dear[:DEAR]]
    return found


def cheap_starts(task: Task, candidates: np.ndarray, rows: np.ndarray) -> list[Plan]:
    """With costs of errors: the features that cost next to nothing beside them, all together.

    One of them alone may not turn a single decision, and then filling would never come to the next.
    """
    if task.judge.measure.unit != "money" or task.spend_all:
        return []
    stake = -float(task.judge.utility((), rows[:SEARCH_ROWS]).mean(dtype=np.float64))
    block: Plan = ()
    for j in candidates[np.argsort(task.prices.price[candidates], kind="stable")].tolist():
        if task.prices.cost((*block, j)) > min(CHEAP * stake, task.budget):
            break
        block = (*block, j)
    return [block] if len(block) > 1 else []


def fills(task: Task, hints: Hints, candidates: np.ndarray, rows: np.ndarray) -> list[Filled]:
    """The greedy plans of all starts, found on some rows and their prefixes judged on more."""
    some, judged = rows[:SEARCH_ROWS], rows[:CHOICE_ROWS]
    begin = [*starts(task, hints, candidates), *cheap_starts(task, candidates, rows)]
    found = [fill(task, (), start, task.budget, some, candidates) for start in begin]
    return [_judged(task, each, judged) for each in found]


def best_of(task: Task, filled: list[Filled]) -> Plan:
    """The prefix worth most of any of the plans."""
    plans = {best_prefix(task, (), each) for each in filled}
    return max(sorted(plans, key=lambda p: p[0]), key=lambda p: p[1])[0]


def swap_partners(task: Task, asked: Plan, plan: Plan, among: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The features that would gain most on top of the plan, best first."""
    options = task.options((*asked, *plan), np.inf, among)
    if len(options) <= SWAP_PARTNERS:
        return options
    few = rows[: task.screen_rows]
    means = task.judge.sweep((*asked, *plan), [(int(j),) for j in options], few).mean(axis=0, dtype=np.float64)
    return options[np.argsort(-means, kind="stable")[:SWAP_PARTNERS]]


def confirm(task: Task, hints: Hints, candidates: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """The worth of buying at all: panels judged on rows that did not choose them; and its error.

    Each half judges the panel of the other; of few rows each fifth that of the rest.
    """
    parts = CONFIRM_PARTS if len(rows) <= FEW_ROWS else 2
    some, gains = rows[: 2 * CONFIRM_ROWS], []
    begin = starts(task, hints, candidates)
    begin = [*begin[: PAIRS + 1], *cheap_starts(task, candidates, rows)]
    for part in range(parts):
        judges = np.arange(len(some)) % parts == part
        chooser, judge_rows = some[~judges], some[judges]
        filled = [fill(task, (), s, task.budget, chooser, candidates, most=CONFIRM_STEPS) for s in begin]
        plan = max((best_prefix(task, (), each) for each in filled), key=lambda p: p[1])[0]
        gain = task.judge.utility(plan, judge_rows) - task.judge.utility((), judge_rows)
        gains.append(gain.astype(np.float64) - task.margin * task.prices.cost(plan))
    gain = np.concatenate(gains)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _judged(task: Task, filled: Filled, rows: np.ndarray) -> Filled:
    """The same plan with its prefixes judged on other rows."""
    means = [task.judge.utility(filled.plan[:k], rows).mean(dtype=np.float64) for k in range(len(filled.plan) + 1)]
    return Filled(filled.plan, tuple(float(mean) for mean in means))
