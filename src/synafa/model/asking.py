"""One case at the bedside: named values in, an `Answer` out; the whole case by a function that fetches results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.model.answer import Answer, Other, Outcome
from synafa.model.ranges import is_far
from synafa.model.stopping import RuleStop, one_reason, reveal_matrix
from synafa.money.words import amount
from synafa.plan.case import encode_case, names_to_mask

if TYPE_CHECKING:
    from synafa.model.answering import Answering

MOST_OUTCOMES = 6  # results of a text feature that are looked ahead at


def answer(model: Answering, observed: dict[str, Any], remaining: float | None, unavailable: Iterable[str]) -> Answer:
    """What the model says of a case."""
    unavailable = [unavailable] if isinstance(unavailable, str) else list(unavailable)
    found = _recommend(model, observed, remaining, unavailable)
    probabilities, decision, expected = _state(model, observed, found)
    outcomes: tuple[Outcome, ...] = ()
    others: tuple[Other, ...] = ()
    reveals: tuple[str, ...] = ()
    if found.feature is not None:
        reveals = () if found.known_at_start else _reveals(model, found.feature, observed)
        left = found.remaining - found.cost
        if probabilities:
            outcomes = tuple(
                _outcome(model, observed, {found.feature: value}, reveals, left, unavailable, words)
                for words, value in possible_results(model, found)
            )
        others = runners_up(model, found, observed, unavailable)
    return Answer(
        recommendation=found,
        probabilities=probabilities,
        decision=decision,
        expected_cost=expected,
        outcomes=outcomes,
        questioned=questioned(model, observed),
        target=model.policy_.target_,
        observed=observed,
        others=others,
        reveals=reveals,
    )


def fetch_all(
    model: Answering,
    fetch: Callable[[str], Any],
    observed: dict[str, Any],
    remaining: float | None,
    unavailable: Iterable[str],
) -> Answer:
    """Ask, fetch, ask again until the policy stops."""
    unavailable = [unavailable] if isinstance(unavailable, str) else list(unavailable)
    while True:
        found = _recommend(model, observed, remaining, unavailable)
        if found.feature is None:
            return answer(model, observed, remaining, unavailable)
        try:
            value = fetch(found.feature)
        except Exception as error:
            raise SynafaError(f"{found.feature!r} could not be fetched: {type(error).__name__}: {error}.") from error
        if remaining is not None:
            remaining -= found.cost
        observed = {**observed, found.feature: value}


def possible_results(model: Answering, found: Any) -> list[tuple[str, Any]]:
    """Results of the proposed feature in words, each with a value that stands for it; a number's is told."""
    encoder = model.policy_.encoder_
    j = encoder.feature_names_.index(found.feature)
    column = encoder.columns_[j]
    if column.kind == "text":
        return [(f"= {category}", category) for category in column.categories[:MOST_OUTCOMES]]
    low, high = model.ranges_[j, 2], model.ranges_[j, 4]
    cut = _cut(model, found, j)
    if not np.isfinite(low):
        return []
    if cut is None:
        return [("low", float(low)), ("high", float(high))] if low < high else []
    below, above = _typical(model.ranges_[j], cut)
    return [(f"≤ {cut:.4g} (such as {below:.4g})", below), (f"> {cut:.4g} (such as {above:.4g})", above)]


def questioned(model: Answering, observed: dict[str, Any]) -> tuple[str, ...]:
    """A sentence for each value that lies far outside those of training."""
    said = []
    names = model.policy_.encoder_.feature_names_
    values, mask = encode_case(model.policy_.encoder_, observed)
    for j in np.flatnonzero(mask & ~np.isnan(values)):
        seven = model.ranges_[j]
        if is_far(float(values[j]), seven):
            said.append(
                f"Is {names[j]} = {values[j]:g} right? In training it was between {seven[0]:g} and {seven[-1]:g}."
            )
    return tuple(said)


def _recommend(model: Answering, observed: dict[str, Any], remaining: float | None, unavailable: list[str]) -> Any:
    """The policy's recommendation; a result of None was paid for and is not asked for again.

    A member of a panel of which another member is known comes first, without charge.
    """
    found = model.policy_.next_feature(observed, remaining=remaining, unavailable=unavailable)
    untold = _untold(model, observed, unavailable)
    if untold is not None:
        return found.telling(*untold)
    if found.feature is None or found.known_at_start:
        return found
    reason = one_reason(model, *encode_case(model.policy_.encoder_, observed))
    return found if reason is None else RuleStop(reason, found.remaining, found.target)


def _untold(model: Answering, observed: dict[str, Any], unavailable: list[str]) -> tuple[str, str] | None:
    """A panel's member that is not told yet although another one was paid, and that one: it is at hand already."""
    names, rule = model.policy_.encoder_.feature_names_, model.policy_.rule_
    if getattr(rule, "prices", None) is None:  # plain prices: nothing comes with anything
        return None
    _, mask = encode_case(model.policy_.encoder_, observed)
    out = mask | names_to_mask(unavailable, names) | rule.unavailable | rule.known
    asked, untold = np.nonzero(reveal_matrix(model.policy_) & (mask & ~rule.known)[:, None] & ~out)
    return (names[int(untold[0])], names[int(asked[0])]) if len(asked) else None


def _state(model: Answering, observed: dict[str, Any], found: Any = None) -> tuple[dict[Any, float], Any, float | None]:
    """Class probabilities, the class decided and its expected cost from what is known.

    A recommendation for the same case (`found`) may have the probabilities already.
    """
    if model.predictor_ is None:
        return {}, None, None
    labels, told = model.classes_.tolist(), getattr(found, "probabilities", None)
    if told:
        proba = np.array([[told[label] for label in labels]])
    else:
        values, mask = encode_case(model.policy_.encoder_, observed)
        proba = model.proba_from(values[None], mask[None])
    expected = None if model.error_costs_ is None else float(model.error_costs_.risk(proba)[0])
    return dict(zip(labels, proba[0].tolist())), labels[int(model.decide(proba)[0])], expected


def _outcome(
    model: Answering,
    observed: dict[str, Any],
    result: dict[str, Any],
    reveals: tuple[str, ...],
    remaining: float,
    unavailable: list[str],
    words: str,
) -> Outcome:
    """Where one result leads; of what comes with it in a panel nothing is assumed."""
    after = {**observed, **result}
    panel = dict.fromkeys(reveals, None)
    found = _recommend(model, {**panel, **after}, max(remaining, 0.0), unavailable)
    probabilities, decision, _ = _state(model, after, None if reveals else found)
    sure = probabilities[decision]
    return Outcome(words, decision, sure, found.feature, sure >= max(probabilities.values()))


def _reveals(model: Answering, feature: str, observed: dict[str, Any]) -> tuple[str, ...]:
    """What comes with a feature in one panel and is not known yet."""
    if getattr(model.policy_.rule_, "prices", None) is None:
        return ()
    names, unavailable = model.policy_.encoder_.feature_names_, model.policy_.rule_.unavailable
    return tuple(
        names[k]
        for k in np.flatnonzero(reveal_matrix(model.policy_)[names.index(feature)])
        if names[k] != feature and names[k] not in observed and not unavailable[k]
    )


def runners_up(model: Answering, found: Any, observed: dict[str, Any], unavailable: list[str]) -> tuple[Other, ...]:
    """What could be measured instead, and why it is not proposed."""
    if getattr(found, "why", None) == "tell" or found.known_at_start:
        return ()
    if not hasattr(model.policy_, "tree_"):
        other = _recommend(model, observed, found.remaining, [*unavailable, found.feature])
        if other.feature is None:
            return ()
        why = f"It promises {other.information:.3f} bits, {found.feature} {found.information:.3f}."
        return (Other(other.feature, other.cost, why),)
    policy = model.policy_
    names = policy.encoder_.feature_names_
    _, mask = encode_case(policy.encoder_, observed)
    asked = np.flatnonzero(mask & ~policy.known_).tolist()
    out = mask | names_to_mask(unavailable, names) | policy.unavailable_
    shown = (amount, "") if found.unit == "money" else ("{:.3f}".format, f" {found.unit}")
    told = []
    for runner in found.runners_up:
        j = names.index(runner.feature)
        if out[j]:
            continue
        price = policy.prices_.now(j, asked)
        told.append(Other(runner.feature, price, _why_not(found, runner.loss, price, *shown)))
    return tuple(told)


def _why_not(found: Any, loss: float, price: float, show: Callable[[float], str], unit: str) -> str:
    """Why a runner-up with this mean loss and price comes after the proposal."""
    if loss > found.loss_next:
        told = f"After it the expected loss is {show(loss)}{unit}, after {found.feature} {show(found.loss_next)}"
        return f"{told} at {found.cost:g}." if price < found.cost else f"{told}."
    if price > found.cost:
        left = f"{show(loss)}{unit} of expected loss are left, not {show(found.loss_next)}"
        return f"It tells a little more ({left}), for more money."
    return f"By itself it is as good; the plan as a whole is better with {found.feature} first."


def _cut(model: Answering, found: Any, j: int) -> float | None:
    """The value at which the policy tells results apart: a question's threshold, a bin's edge, else the median."""
    threshold = getattr(found, "threshold", None)
    if threshold is not None:
        return float(threshold)
    rule = model.policy_.rule_
    edges = getattr(rule, "edges", None)
    if edges is not None and np.isfinite(edges[j, 0]):
        return float(edges[j, 0])
    low, middle, high = model.ranges_[j, [0, 3, 6]]
    return float(middle) if low <= middle < high else None


def _typical(seven: np.ndarray, cut: float) -> tuple[float, float]:
    """A value of training on each side of a cut: the nearest quartile beyond it, else the end of the range."""
    below = [q for q in (seven[2], seven[1], seven[0]) if q <= cut]
    above = [q for q in (seven[4], seven[5], seven[6]) if q > cut]
    return float(below[0] if below else cut), float(above[0] if above else np.nextafter(cut, np.inf))
