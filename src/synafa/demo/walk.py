"""One patient from the first question to the stop: what the model says, the result, and what was paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synafa.model.answer import Answer
    from synafa.model.answering import Answering


@dataclass(frozen=True)
class Step:
    """What the model said, the result that came (None at the stop), and what was paid before."""

    answer: Answer
    result: Any
    paid: float


def walk(model: Answering, patient: Mapping[str, Any], known: Sequence[str]) -> list[Step]:
    """Follow a model for a patient of whom every result is at hand, starting from what is known.

    Parameters
    ----------
    model : AcquisitionClassifier or what `load_model` read
    patient : mapping
        The result of every feature.
    known : sequence of str
        What is known from the start.

    Returns
    -------
    list of Step
        The last one is the stop.
    """
    observed = {name: patient[name] for name in known}
    steps: list[Step] = []
    paid = 0.0
    while True:
        answer = model.next_feature(observed)
        feature = answer.recommendation.feature
        if feature is None:
            return [*steps, Step(answer, None, paid)]
        steps.append(Step(answer, patient[feature], paid))
        paid += answer.recommendation.cost
        observed = {**observed, feature: patient[feature]}


def told(steps: Sequence[Step]) -> list[list[str]]:
    """The lines of each step: what the model said, and what came out."""
    out = []
    for step in steps:
        lines = step.answer.text.split("\n")
        if step.result is not None:
            lines.append(f"Result: {step.answer.recommendation.feature} = {step.result}.")
        out.append(lines)
    return out


def bill(steps: Sequence[Step]) -> list[tuple[str, float]]:
    """What was measured, and what it cost."""
    found = [step.answer.recommendation for step in steps[:-1]]
    return [(str(one.feature), one.cost) for one in found]
