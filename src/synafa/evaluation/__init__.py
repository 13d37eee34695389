"""Any policy, any classifier, one hard-budget harness, the same metrics for all."""

from synafa.evaluation.evaluate import Evaluation, evaluate
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
from synafa.policy.run import ENDINGS, Run

__all__ = [
    "ENDINGS",
    "REFERENCES",
    "Classifier",
    "Evaluation",
    "Policy",
    "RandomPolicy",
    "Run",
    "StaticPolicy",
    "all_features",
    "evaluate",
    "run_policy",
    "static_pair",
    "static_single",
]
