"""Complete plans for a set of rows: greedy filling, the best prefix, and swaps.

A plan's worth is its mean utility on the rows minus `margin` times its price. Many candidates are first compared on
some of the rows, and the best of them on all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.plan.judge import Judge
from synafa.plan.prices import Prices

Plan = tuple[int, ...]
SCREEN_ROWS = 1000  # first comparison of many candidates
FINALISTS = 6  # of them are compared on all rows
SWAP_PARTNERS = 14
EXCHANGES = 12  # are judged exactly


@dataclass(frozen=True, eq=False)
class Task:
    """What all searches of a fit share.

    Attributes
    ----------
    judge : utilities of feature sets
    prices : what measuring costs
    budget : what a row may spend; infinite for no limit
    margin : utility that one unit of price must bring
    candidates : features that may be bought, ascending
    """

    judge: Judge
    prices: Prices
    budget: float
    margin: float
    candidates: np.ndarray
    spend_all: bool = False
    screen_rows: int = field(default=SCREEN_ROWS)

    def options(self, asked: Sequence[int], left: float, among: np.ndarray | None = None) -> np.ndarray:
        """Candidates that are not revealed yet and that `left` pays for."""
        pool = self.candidates if among is None else among
        known = np.zeros(len(self.prices.price), bool)
        known[list(self.judge.known)] = True
        sources = [*asked, *self.judge.known]
        known |= self.prices.settled[sources].any(axis=0)
        return pool[~known[pool] & (self.prices.all_now(asked)[pool] <= left + TOLERANCE)]

    def worth(self, utility: float, price: float) -> float:
        return utility - self.margin * price


@dataclass(frozen=True)
class Filled:
    """A greedy plan and the mean utility after each of its prefixes, the empty one first."""

    plan: Plan
    utilities: tuple[float, ...]


def best_addition(
    task: Task, asked: Plan, options: np.ndarray, rows: np.ndarray, finalists: int = FINALISTS
) -> tuple[int, float]:
    """The option with the largest mean gain per price, compared on some rows first, and the mean utility with it."""
    few = rows[: task.screen_rows]
    prices = np.maximum(task.prices.all_now(asked), 1e-6)
    if len(few) < len(rows) and len(options) > finalists:
        before = task.judge.utility(asked, few).mean(dtype=np.float64)
        gains = _means(task, asked, options, few) - before
        options = options[_by_rate(gains, prices[options])[:finalists]]
    before = task.judge.utility(asked, rows).mean(dtype=np.float64)
    means = _means(task, asked, options, rows)
    best = _by_rate(means - before, prices[options])[0]
    return int(options[best]), float(means[best])


def _means(task: Task, asked: Plan, options: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return task.judge.sweep(asked, [(int(j),) for j in options], rows).mean(axis=0, dtype=np.float64)


def _by_rate(gains: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Options by gain per price, best first; a loss counts in full, whatever the price."""
    return np.argsort(-np.where(gains > 0, gains / prices, gains), kind="stable")


def fill(
    task: Task,
    asked: Plan,
    start: Plan,
    left: float,
    rows: np.ndarray,
    among: np.ndarray | None = None,
    patience: int = 3,
    most: int = 1000,
) -> Filled:
    """Add to `start` the feature with the largest mean gain per price until nothing fits.

    left : money for `start` and the rest; patience : steps without worth after which filling ends; most : features
    """
    plan = list(start)
    left -= task.prices.cost(plan, asked)
    judge = task.judge
    means = [float(judge.utility((*asked, *plan[:k]), rows).mean(dtype=np.float64)) for k in range(len(plan) + 1)]
    idle = 0
    while idle < patience and len(plan) < most:
        state = (*asked, *plan)
        options = task.options(state, left, among)
        if not len(options):
            break
        j, mean = best_addition(task, state, options, rows)
        price = task.prices.now(j, state)
        idle = 0 if task.worth(mean, price) > means[-1] or task.spend_all else idle + 1
        plan.append(j)
        means.append(mean)
        left -= price
    return Filled(tuple(plan), tuple(means))


def best_prefix(task: Task, asked: Plan, filled: Filled) -> tuple[Plan, float]:
    """The prefix worth most, and its worth; the whole plan when everything is to be spent."""
    worth = [task.worth(mean, task.prices.cost(filled.plan[:k], asked)) for k, mean in enumerate(filled.utilities)]
    best = len(worth) - 1 if task.spend_all else int(np.argmax(worth))
    return filled.plan[:best], float(worth[best])


def swap_once(
    task: Task, asked: Plan, plan: Plan, left: float, rows: np.ndarray, among: np.ndarray, errors: float
) -> Plan | None:
    """The best exchange of one feature of the plan, or None when none gains more than `errors` standard errors.

    among : features that may come in; one may also be dropped for nothing. Exchanges are ranked by the sum of what
    dropping one and adding the other do on some of the rows, and the best of them judged exactly.
    """
    trials = _exchanges(task, asked, plan, left, rows[: task.screen_rows], among)
    if not trials:
        return None
    means = _trial_worth(task, asked, trials, rows)
    best = trials[int(np.argmax(means))]
    gain = task.judge.utility((*asked, *best), rows) - task.judge.utility((*asked, *plan), rows)
    saved = task.margin * (task.prices.cost(plan, asked) - task.prices.cost(best, asked))
    mean = gain.mean(dtype=np.float64) + saved
    error = gain.std(dtype=np.float64) / np.sqrt(max(len(rows), 1))
    return best if mean > errors * error and mean > 1e-9 else None


def _exchanges(task: Task, asked: Plan, plan: Plan, left: float, rows: np.ndarray, among: np.ndarray) -> list[Plan]:
    """Exchanges that fit, those with the best sum of both effects first, and for each newcomer its best exchange."""
    judge, prices = task.judge, task.prices
    options = task.options((*asked, *plan), np.inf, among)
    whole = judge.utility((*asked, *plan), rows).mean(dtype=np.float64)
    added = _means(task, (*asked, *plan), options, rows) - whole if len(options) else np.empty(0)
    scored: list[tuple[float, Plan]] = []
    best_of: dict[int, tuple[float, Plan]] = {}
    for i in range(len(plan)):
        kept = (*plan[:i], *plan[i + 1 :])
        lost = whole - judge.utility((*asked, *kept), rows).mean(dtype=np.float64)
        spare = left - prices.cost(kept, asked)
        now = prices.all_now((*asked, *kept))
        back = task.margin * now[plan[i]]
        for q, gain in zip(options.tolist(), added):
            if now[q] <= spare + TOLERANCE:
                trial = (float(gain - lost + back - task.margin * now[q]), (*kept, q))
                scored.append(trial)
                if q not in best_of or trial[0] > best_of[q][0]:
                    best_of[q] = trial
        if not task.spend_all:
            scored.append((float(back - lost), kept))
    scored.sort(key=lambda each: -each[0])
    chosen = [trial for _, trial in scored[:EXCHANGES]]
    others = sorted(best_of.values(), key=lambda each: -each[0])[: EXCHANGES // 2]
    return list(dict.fromkeys([*chosen, *(trial for _, trial in others)]))


def _trial_worth(task: Task, asked: Plan, trials: list[Plan], rows: np.ndarray) -> np.ndarray:
    """The mean worth of whole plans; plans that differ only in their last feature are judged together."""
    worth = np.empty(len(trials))
    stems: dict[Plan, list[int]] = {}
    for i, trial in enumerate(trials):
        stems.setdefault(trial[:-1], []).append(i)
    for stem, members in stems.items():
        means = task.judge.sweep((*asked, *stem), [trials[i][-1:] for i in members], rows)
        for i, mean in zip(members, means.mean(axis=0, dtype=np.float64)):
            worth[i] = task.worth(mean, task.prices.cost(trials[i], asked))
    return worth


def improve(
    task: Task,
    asked: Plan,
    plan: Plan,
    left: float,
    rows: np.ndarray,
    among: np.ndarray,
    errors: float = 0.5,
    rounds: int = 3,
) -> Plan:
    """At most `rounds` of the best swap; what it leaves unspent is filled again where that is worth its price."""
    for _ in range(rounds):
        better = swap_once(task, asked, plan, left, rows, among, errors)
        if better is None:
            return plan
        filled = fill(task, asked, better, left, rows, among, patience=1)
        plan = longest_worth(task, asked, filled, len(better))
    return plan


def longest_worth(task: Task, asked: Plan, filled: Filled, at_least: int) -> Plan:
    """The best prefix that keeps the first `at_least` features."""
    if task.spend_all:
        return filled.plan
    worth = [
        task.worth(mean, task.prices.cost(filled.plan[:k], asked)) if k >= at_least else -np.inf
        for k, mean in enumerate(filled.utilities)
    ]
    return filled.plan[: int(np.argmax(worth))]


def in_order(task: Task, asked: Plan, plan: Plan, rows: np.ndarray) -> Plan:
    """The plan's features so that each next one gains most per price after those before it."""
    rest: list[int] = list(plan)
    ordered: list[int] = []
    while len(rest) > 1:
        j, _ = best_addition(task, (*asked, *ordered), np.array(rest), rows)
        rest.remove(j)
        ordered.append(j)
    return (*ordered, *rest)
