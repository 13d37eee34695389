"""Statistical tests: each a function from arrays to a small frozen result object."""

from synafa.stats.cluster import (
    BootstrapResult,
    cluster_bootstrap,
    cluster_bootstrap_correlation,
    instance_bootstrap,
)
from synafa.stats.multiplicity import MultiplicityResult, benjamini_hochberg, holm
from synafa.stats.paired import PairedResult, SignTestResult, paired_bootstrap, paired_bootstrap_statistic, sign_test
from synafa.stats.permutation import PairPermutationResult, pair_permutation_test, pair_table

__all__ = [
    "BootstrapResult",
    "MultiplicityResult",
    "PairPermutationResult",
    "PairedResult",
    "SignTestResult",
    "benjamini_hochberg",
    "cluster_bootstrap",
    "cluster_bootstrap_correlation",
    "holm",
    "instance_bootstrap",
    "pair_permutation_test",
    "pair_table",
    "paired_bootstrap",
    "paired_bootstrap_statistic",
    "sign_test",
]
