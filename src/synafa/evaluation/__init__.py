"""Any policy, any classifier, one hard-budget harness, the same metrics for all."""

from synafa.evaluation.episodes import ENDINGS, Episodes
from synafa.evaluation.harness import run_policy
from synafa.evaluation.protocols import Classifier, Policy

__all__ = ["ENDINGS", "Classifier", "Episodes", "Policy", "run_policy"]
