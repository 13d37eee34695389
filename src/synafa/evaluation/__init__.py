"""Any policy, any classifier, one hard-budget harness, the same metrics for all."""

from synafa.evaluation.episodes import ENDINGS, Episodes
from synafa.evaluation.evaluate import Evaluation, Outcome, compare, evaluate
from synafa.evaluation.harness import run_policy
from synafa.evaluation.protocols import Classifier, Policy
from synafa.evaluation.reference import (
    REFERENCES,
    RandomPolicy,
    StaticPolicy,
    all_features,
    static_pair,
    static_single,
)

__all__ = [
    "ENDINGS",
    "REFERENCES",
    "Classifier",
    "Episodes",
    "Evaluation",
    "Outcome",
    "Policy",
    "RandomPolicy",
    "StaticPolicy",
    "all_features",
    "compare",
    "evaluate",
    "run_policy",
    "static_pair",
    "static_single",
]
