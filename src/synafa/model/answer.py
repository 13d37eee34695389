"""What a model says of one case: what it is now and how sure, what to measure next, and what each result would mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from synafa.money.words import amount, percent


@dataclass(frozen=True)
class Outcome:
    """A possible result of the proposed measurement, and where it leads.

    Attributes
    ----------
    result : str
        The result in words, e.g. "> 2.1" or "= yes".
    decision : Any
        The class that would then be decided.
    probability : float
        How probable that class would then be.
    next_feature : str or None
        What would then be measured; None: nothing more.
    most_probable : bool
        Whether no class would be more probable; False where the cheaper error decides against it.
    """

    result: str
    decision: Any
    probability: float
    next_feature: str | None
    most_probable: bool = True

    @property
    def text(self) -> str:
        """The outcome as a clause."""
        then = "stop" if self.next_feature is None else f"measure {self.next_feature}"
        result = self.result.removeprefix("= ")
        if not self.most_probable:
            cheaper = f"decide {self.decision}, the cheaper error ({percent(self.probability)} probable)"
            return f"if {result}: {cheaper}, {then}"
        return f"if {result}: {_sure(self.probability)} {self.decision} ({percent(self.probability)}), {then}"


@dataclass(frozen=True)
class Other:
    """A runner-up: what could be measured instead, at which price, and why it is not proposed."""

    feature: str
    price: float
    why: str

    @property
    def text(self) -> str:
        """The runner-up as a sentence."""
        return f"Why not {self.feature} (cost {self.price:g})? {self.why}"


@dataclass(frozen=True)
class Answer:
    """A recommendation with the state of the case around it.

    Attributes
    ----------
    recommendation : Recommendation or PlanRecommendation
        What to measure next and why, or why to stop.
    probabilities : dict
        The probability of each class from what is known; empty for a policy that was saved without a predictor.
    decision : Any
        The class to decide now: the most probable one, or with error costs the one of least expected cost; None
        without probabilities.
    expected_cost : float or None
        With error costs: what deciding now costs on average.
    outcomes : tuple of Outcome
        What each possible result of the proposed measurement leads to.
    questioned : tuple of str
        Sentences about values that lie far outside those of training.
    target : str
        What the class is called.
    observed : dict
        What is known of the case, by feature name; None for a measurement without a result.
    others : tuple of Other
        Runners-up and why not they.
    reveals : tuple of str
        What comes with the proposed measurement in one panel, for the same price.
    """

    recommendation: Any
    probabilities: dict[Any, float]
    decision: Any
    expected_cost: float | None = None
    outcomes: tuple[Outcome, ...] = ()
    questioned: tuple[str, ...] = ()
    target: str = "the class"
    observed: dict[str, Any] = field(default_factory=dict)
    others: tuple[Other, ...] = ()
    reveals: tuple[str, ...] = ()

    @property
    def now(self) -> str:
        """What the case is now, as a sentence; empty without probabilities."""
        if not self.probabilities:
            return ""
        sure = self.probabilities[self.decision]
        money = "" if self.expected_cost is None else f", with expected error costs of {amount(self.expected_cost)}"
        best = max(self.probabilities, key=self.probabilities.__getitem__)
        if self.expected_cost is not None and best != self.decision:
            return (
                f"Now: decide {self.target} = {self.decision} ({percent(sure)} probable), the cheaper error{money}; "
                f"{best} is more probable ({percent(self.probabilities[best])})."
            )
        return f"Now: {_sure(sure)} {self.target} = {self.decision} ({percent(sure)}){money}."

    @property
    def text(self) -> str:
        """The whole answer in lines."""
        lines = [*self.questioned, self.now, self.recommendation.text]
        if self.reveals:
            lines.append(f"With it, for the same price: {', '.join(self.reveals)}.")
        if self.outcomes:
            lines.append("; ".join(outcome.text for outcome in self.outcomes) + ".")
        lines.append(getattr(self.recommendation, "note", ""))
        return "\n".join(line for line in lines if line)

    def to_dict(self) -> dict[str, Any]:
        """JSON values: those of the recommendation, and the state of the case."""
        return self.recommendation.to_dict() | {
            "probabilities": {str(label): p for label, p in self.probabilities.items()},
            "decision": _plain(self.decision),
            "expected_cost": self.expected_cost,
            "now": self.now,
            "outcomes": [
                {
                    "result": one.result,
                    "decision": _plain(one.decision),
                    "probability": one.probability,
                    "next_feature": one.next_feature,
                    "text": one.text,
                }
                for one in self.outcomes
            ],
            "questioned": list(self.questioned),
            "target": self.target,
            "observed": {name: _plain(value) for name, value in self.observed.items()},
            "others": [
                {"feature": one.feature, "price": one.price, "why": one.why, "text": one.text} for one in self.others
            ],
            "reveals": list(self.reveals),
        }


def _sure(probability: float) -> str:
    """A word for how sure a class is."""
    if probability >= 0.95:
        return "almost surely"
    return "probably" if probability >= 0.7 else "perhaps"


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
