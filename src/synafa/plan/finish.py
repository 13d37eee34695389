"""From grown nodes to the finished tree: plans put in order, spare features, and the numbers behind the reasons."""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.plan.grow import Grower, Node
from synafa.plan.root import swap_partners
from synafa.plan.search import Plan, Task, best_addition, in_order
from synafa.plan.tree import RUNNERS, Tree

ORDER_ROWS = 3000
FURTHER_ROWS = 500
SPARES = 4
SPARE_ERRORS = 1.0  # standard errors by which a spare feature has to gain
RUNNER_ROWS = 500
_ITEM = ("items", "price", "loss_after", "runner", "runner_loss")
_INT = ("feature", "ask", "left", "right", "start", "planned", "stop")


def finish(grower: Grower, root: Node, n_classes: int) -> Tree:
    """Arrays of the tree, nodes in depth-first order."""
    parts: dict[str, list[Any]] = {name: [] for name in Tree.__dataclass_fields__}
    _add(grower, root, n_classes, parts)
    arrays: dict[str, np.ndarray] = {}
    for name, found in parts.items():
        if name in _INT or name in ("items", "runner", "rest"):
            arrays[name] = np.array(found, dtype=np.int32)
        elif name in ("count", "class_counts"):
            arrays[name] = np.array(found, dtype=np.int64)
        else:
            arrays[name] = np.array(found, dtype=bool if name == "missing_left" else np.float64)
    for name in ("runner", "runner_loss", "rest", "rest_saving"):
        arrays[name] = arrays[name].reshape(-1, RUNNERS)
    return Tree(**arrays)


def _add(grower: Grower, node: Node, n_classes: int, parts: dict[str, list[Any]]) -> int:
    """Append a node and all below it; returns its number."""
    number = len(parts["feature"])
    split = node.split
    _add_items(grower, node, parts)
    rows = node.rows
    parts["feature"].append(-1 if split is None else split.feature)
    parts["ask"].append(-1 if split is None else split.ask if split.ask >= 0 else split.feature)
    parts["threshold"].append(np.nan if split is None else split.threshold)
    parts["missing_left"].append(split is not None and split.missing_left)
    parts["left"].append(-1)
    parts["right"].append(-1)
    parts["count"].append(len(rows))
    parts["class_counts"].append(np.bincount(grower.task.judge.y[rows], minlength=n_classes))
    parts["gain"].append(node.gain)
    parts["error"].append(node.error)
    parts["left_over"].append(node.left)
    for side, child in zip(("left", "right"), node.children):
        parts[side][number] = _add(grower, child, n_classes, parts)
    return number


def _add_items(grower: Grower, node: Node, parts: dict[str, list[Any]]) -> None:
    task, judge, rows = grower.task, grower.task.judge, node.rows
    some = rows if len(rows) <= ORDER_ROWS else np.concatenate([node.chosen, node.checked])[:ORDER_ROWS]
    plan = in_order(task, node.asked, node.plan, some)
    if node.split is not None and node.split.ask in plan:  # the question comes first
        plan = (node.split.ask, *(j for j in plan if j != node.split.ask))
    pool = swap_partners(task, node.asked, plan, grower.candidates, some)
    further = _further(task, node.asked, plan, some, pool)
    parts["start"].append(len(parts["items"]))
    parts["loss_before"].append(-_mean(judge.utility(node.asked, rows)))
    spare = _worth_it(task, node.asked, plan, further, rows)
    everything = (*plan, *spare)
    for k, j in enumerate(everything):
        state = (*node.asked, *everything[:k])
        parts["items"].append(j)
        parts["price"].append(task.prices.now(j, state))
        parts["loss_after"].append(-_mean(judge.utility((*state, j), rows)))
        told = node.split is None or k == 0  # the other items of an inner node are there for emergencies
        alternatives = np.array(sorted({*everything[k + 1 :], *pool[:RUNNERS]} - {j}), dtype=np.int64)
        others, losses = _runners(task, state, alternatives if told else alternatives[:0], some[:RUNNER_ROWS])
        parts["runner"].append(others)
        parts["runner_loss"].append(losses)
    parts["planned"].append(len(parts["items"]) - len(spare))
    parts["stop"].append(len(parts["items"]))
    others, savings = _rest(task, (*node.asked, *everything), pool, rows, some[:RUNNER_ROWS])
    parts["rest"].append(others)
    parts["rest_saving"].append(savings)
    now, later = judge.proba((*node.asked, *plan), rows), judge.proba((*node.asked, *plan, *further), rows)
    parts["sure"].append(float(now.max(axis=1).mean()) if len(rows) else 0.0)
    parts["changes"].append(float((now.argmax(axis=1) != later.argmax(axis=1)).mean()) if len(rows) else 0.0)


def _further(task: Task, asked: Plan, plan: Plan, rows: np.ndarray, pool: np.ndarray) -> Plan:
    """Features that would be bought next if money were no limit, best first, worth it or not."""
    found: Plan = ()
    while len(found) < SPARES:
        options = task.options((*asked, *plan, *found), np.inf, pool)
        if not len(options):
            break
        found = (*found, best_addition(task, (*asked, *plan, *found), options, rows[:FURTHER_ROWS])[0])
    return found


def _worth_it(task: Task, asked: Plan, plan: Plan, further: Plan, rows: np.ndarray) -> Plan:
    """Those at the beginning of `further` that gain more than margin and error on all rows of the node."""
    if not (plan or asked) or not len(rows):  # nothing was worth buying at all
        return ()
    kept: Plan = ()
    for j in further:
        state = (*asked, *plan, *kept)
        gain = task.judge.utility((*state, j), rows).astype(np.float64) - task.judge.utility(state, rows)
        error = gain.std() / np.sqrt(len(rows))
        if not task.spend_all and gain.mean() <= task.margin * task.prices.now(j, state) + SPARE_ERRORS * error:
            break
        kept = (*kept, j)
    return kept


def _runners(task: Task, state: Plan, pool: np.ndarray, rows: np.ndarray) -> tuple[list[int], list[float]]:
    """Other features for this place, by mean loss with them."""
    options = task.options(state, np.inf, pool)
    losses = -task.judge.sweep(state, [(int(j),) for j in options], rows).mean(axis=0, dtype=np.float64)
    order = np.argsort(losses, kind="stable")[:RUNNERS]
    lacking = RUNNERS - len(order)
    return [*options[order].tolist(), *[-1] * lacking], [*losses[order].tolist(), *[np.nan] * lacking]


def _rest(
    task: Task, state: Plan, pool: np.ndarray, rows: np.ndarray, some: np.ndarray
) -> tuple[list[int], list[float]]:
    """Features after all others with what each saves on all rows of the node, the one to name at a stop first.

    That is the one that saves most beyond its price; where none saves its price, the one that saves most.
    """
    options, prices = task.options(state, np.inf, pool), task.prices.all_now(state)
    found: list[int] = []
    if len(options) and len(some):
        gains = task.judge.sweep(state, [(int(j),) for j in options], some).mean(axis=0, dtype=np.float64)
        by_worth = options[np.argsort(task.margin * prices[options] - gains, kind="stable")].tolist()
        by_saving = options[np.argsort(-gains, kind="stable")].tolist()
        found = list(dict.fromkeys([by_worth[0], *by_saving]))[:RUNNERS]
    judge = task.judge
    measure = getattr(judge.measure, "exact", lambda: judge.measure)()

    def value(asked: Plan) -> float:
        return _mean(measure(judge.proba(asked, rows), judge.truth[rows]))

    now = value(state) if found else 0.0
    savings = {j: value((*state, j)) - now for j in found}

    def place(j: int) -> tuple[bool, float]:
        beyond = savings[j] - task.margin * float(prices[j])
        return (beyond <= 0, -beyond if beyond > 0 else -savings[j])

    found.sort(key=place)
    lacking = RUNNERS - len(found)
    return [*found, *[-1] * lacking], [*(savings[j] for j in found), *[0.0] * lacking]


def _mean(utility: np.ndarray) -> float:
    return float(utility.mean(dtype=np.float64)) if len(utility) else 0.0
