"""Statistical tests: each a function from arrays to a small frozen result object."""

from synafa.stats.paired import PairedResult, SignTestResult, paired_bootstrap, paired_bootstrap_statistic, sign_test

__all__ = ["PairedResult", "SignTestResult", "paired_bootstrap", "paired_bootstrap_statistic", "sign_test"]
