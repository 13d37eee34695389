"""Everything the demonstration shows: two models, a patient followed through both, and the proof on unseen patients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synafa.demo.heart import KNOWN, PATIENT, TARGET, Clinic, clinic
from synafa.demo.rule import RULE, judge_rule
from synafa.demo.walk import Step, walk
from synafa.money import ErrorCosts, amount
from synafa.proof.findings import findings
from synafa.proof.kept import KeptFits
from synafa.proof.measures import Interval, differences
from synafa.proof.prove import MODEL, Proof, Settings, prove
from synafa.proof.table import ProofTable

if TYPE_CHECKING:
    from synafa.model.classifier import AcquisitionClassifier

BUDGETS = (150.0,)  # that the proof compares at; each takes its time
DEARER = 10  # how many times dearer errors are in the second walk
Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Story:
    """What was fitted and found.

    model, dear : the model at the published error costs, and at `DEARER` times these
    steps, dear_steps : the patient's way with each
    found : what `findings` made of `proof`
    """

    clinic: Clinic
    model: AcquisitionClassifier
    dear: AcquisitionClassifier
    steps: list[Step]
    dear_steps: list[Step]
    proof: Proof
    found: dict[str, Any]

    def savings(self) -> dict[str, Interval]:
        """What the model saves a case, against each other method: tests and errors together."""
        out = {}
        for other in self.proof.methods[1:]:
            more = differences(self.proof, other, MODEL, ("cost",))["cost"][BUDGETS[-1]]
            out[other] = more
        return out

    def verdicts(self) -> list[str]:
        """The savings in words."""
        return [
            f"Against {name}: {_signed(saved.mean)} a patient (95 % interval {_signed(saved.low)} to "
            f"{_signed(saved.high)}), {_verdict(saved)}."
            for name, saved in self.savings().items()
        ]


def tell_story(progress: Progress = lambda share, text: None, data: Clinic | None = None) -> Story:
    """Fit, follow the patient and judge on unseen rows; `progress(share, text)` is told what is going on."""
    data = clinic() if data is None else data
    kept = KeptFits()
    model = fit_model(data, data.errors, kept, _part(progress, 0.0, 0.25))
    progress(0.25, "the same with dearer errors")
    dearer = ErrorCosts(data.errors.classes, DEARER * data.errors.matrix)
    dear = fit_model(data, dearer, kept, _part(progress, 0.25, 0.3))
    table = ProofTable.of(data.features, data.disease, target=TARGET)
    settings = Settings(BUDGETS, data.prices, data.errors, KNOWN)
    proof = prove(table, settings, _part(progress, 0.3, 0.93), kept)
    progress(0.93, RULE)
    judge_rule(proof, kept)
    progress(0.96, "intervals")
    found = findings(proof)
    ways = [walk(each, PATIENT, KNOWN) for each in (model, dear)]
    return Story(data, model, dear, ways[0], ways[1], proof, found)


def fit_model(data: Clinic, errors: ErrorCosts, kept: KeptFits, progress: Progress) -> AcquisitionClassifier:
    """What `synafa fit heart.csv --target disease --prices prices.csv --errors errors.csv --known age,sex` fits."""
    from synafa.model.classifier import AcquisitionClassifier
    from synafa.plan.plan_tree import PlanTree

    tree = PlanTree(None, prices=data.prices, error_costs=errors)
    model = AcquisitionClassifier(tree, predictor=kept)
    return model.fit(data.features, data.disease, known=KNOWN, target=TARGET, progress=progress)


def _verdict(saved: Interval) -> str:
    if saved.low == saved.high == 0:
        return "the same"
    if saved.low > 0:
        return "cheaper"
    return "dearer" if saved.high < 0 else "no clear difference"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{amount(abs(value))}"


def _part(say: Progress, start: float, end: float) -> Progress:
    return lambda share, text: say(start + (end - start) * share, text)
