"""Statistical tests: each a function from arrays to a small frozen result object."""

from synafa.stats.cluster import (
    BootstrapResult,
    cluster_bootstrap,
    cluster_bootstrap_correlation,
    instance_bootstrap,
)
from synafa.stats.few import jackknife_interval, prediction_interval, t_interval
from synafa.stats.hierarchical import HierarchicalResult, hierarchical_bootstrap
from synafa.stats.multiplicity import MultiplicityResult, adjusted_stars, benjamini_hochberg, holm, pvalue_text
from synafa.stats.paired import PairedResult, SignTestResult, paired_bootstrap, paired_bootstrap_statistic, sign_test
from synafa.stats.permutation import PairPermutationResult, pair_permutation_test, pair_table
from synafa.stats.row_values import (
    auroc_values,
    balanced_accuracy_values,
    clustered_correlation_values,
    clustered_mean_values,
    log_loss_values,
)
from synafa.stats.shares import normal_interval, roc_area, wilson_interval

__all__ = [
    "BootstrapResult",
    "HierarchicalResult",
    "MultiplicityResult",
    "PairPermutationResult",
    "PairedResult",
    "SignTestResult",
    "adjusted_stars",
    "auroc_values",
    "balanced_accuracy_values",
    "benjamini_hochberg",
    "cluster_bootstrap",
    "cluster_bootstrap_correlation",
    "clustered_correlation_values",
    "clustered_mean_values",
    "hierarchical_bootstrap",
    "holm",
    "instance_bootstrap",
    "jackknife_interval",
    "log_loss_values",
    "normal_interval",
    "pair_permutation_test",
    "pair_table",
    "paired_bootstrap",
    "paired_bootstrap_statistic",
    "prediction_interval",
    "pvalue_text",
    "roc_area",
    "sign_test",
    "t_interval",
    "wilson_interval",
]
