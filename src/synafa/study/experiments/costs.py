"""What a unit is expected to take on one core: the order of work, the time left, and the estimate of `--dry-run`.

Processor seconds of single units of profile `standard`, by dataset and method, rounded; a unit's record keeps its own
as `processor_seconds`. What has no entry takes a guess by size.
"""

from __future__ import annotations

from collections.abc import Sequence

JUDGE = {
    "ckd": 0.1,
    "actg175": 0.5,
    "bank": 22.0,
    "physionet": 2.3,
    "mnist-loop": 17.5,
    "miniboone": 120.0,
    "cube": 0.2,
}
SWEEP_JUDGE = 5.4

_RL = ("jafa", "ol-with-mask", "ol-without-mask", "odin-model-based", "odin-model-free")
# EDDI's seconds hold the partial VAE's, which ODIN then finds in the cache.
POLICY: dict[str, dict[str, float]] = {
    "ckd": {
        **{"permutation": 0.3, "cae": 1.1, "gdfs": 2.4, "dime": 2.5, "jafa": 4.6, "ol-with-mask": 5.6},
        **{"ol-without-mask": 5.3, "eddi": 11.5, "eddi-builtin": 11.3, "odin-model-based": 4.3},
        **{"odin-model-free": 4.1, "plan-tree": 0.1},
    },
    "actg175": {
        **{"aaco": 0.5, "permutation": 0.2, "cae": 1.0, "gdfs": 4.3, "dime": 3.0, "jafa": 5.2, "ol-with-mask": 6.1},
        **{"ol-without-mask": 5.8, "eddi": 32.0, "eddi-builtin": 38.0, "odin-model-based": 4.5},
        **{"odin-model-free": 4.2, "plan-tree": 0.5},
    },
    "bank": {
        **{"aaco": 5.3, "permutation": 1.5, "cae": 6.5, "gdfs": 16.0, "dime": 10.5, "jafa": 5.9, "random": 0.6},
        **{"ol-with-mask": 6.5, "ol-without-mask": 6.3, "eddi": 88.0, "odin-model-based": 5.3, "plan-tree": 1.2},
    },
    "physionet": {
        **{"aaco": 5.3, "permutation": 0.9, "cae": 3.9, "gdfs": 21.0, "dime": 7.8, "jafa": 7.5, "random": 0.6},
        **{"ol-with-mask": 7.6, "ol-without-mask": 7.0, "eddi": 129.0, "odin-model-based": 5.8, "plan-tree": 3.5},
    },
    "sweep": {
        **{"aaco": 0.1, "permutation": 0.6, "cae": 6.8, "gdfs": 20.5, "dime": 12.6, "jafa": 7.0, "plan-tree": 0.5},
        **{"ol-with-mask": 7.4, "ol-without-mask": 6.8, "eddi": 30.0, "odin-model-based": 5.5},
    },
    "mnist-loop": {
        **{"aaco": 9.0, "permutation": 13.0, "synafa": 3.0, "synafa-strict": 14.5, "static-single": 8.0},
        **{"plan-tree": 23.0, "plan-panel": 1.5, "static-greedy": 2.6, "gdfs": 507.0, "dime": 297.0},
    },
}
POLICY["cube"] = POLICY["ckd"] | {
    **{"aaco": 0.9, "gdfs": 5.4, "dime": 3.7, "jafa": 5.0, "ol-with-mask": 5.6, "ol-without-mask": 5.4},
    **{"eddi": 27.5, "odin-model-based": 4.3, "plan-tree": 0.3},
}
POLICY["cube-costs"] = POLICY["cube"]
_PIXELS, _PIXEL_DRAWS = 18.0, 1.6  # seconds of CAE on 784 pixels, and for each feature that it selects
_GUESS = {
    "aaco": 5.0,
    "permutation": 2.0,
    "cae": 6.0,
    "gdfs": 20.0,
    "dime": 15.0,
    "eddi": 50.0,
    **dict.fromkeys(_RL, 7.0),
}
_SPEED = {"paper": 10.0, "standard": 1.0, "quick": 0.04}


def policy_seconds(profile: str, dataset: str, method: str, budgets: Sequence[float], sweep: bool) -> float:
    """A policy unit: training or drawing, running and judging."""
    if (dataset, method) == ("mnist-loop", "cae"):
        seconds = _PIXELS * len(budgets) + _PIXEL_DRAWS * sum(budgets)
    else:
        known = POLICY.get("sweep" if sweep else dataset, {})
        large = 6.0 if dataset == "miniboone" else 1.0
        seconds = known.get(method, large * _GUESS.get(method, 0.5) if not known else 0.1)
    return 0.05 + _SPEED[profile] * seconds


def judge_seconds(profile: str, dataset: str, sweep: bool, count: int) -> float:
    """A unit that trains `count` shared classifiers."""
    each = SWEEP_JUDGE if sweep else JUDGE.get(dataset.removesuffix("-costs"), 8.0)
    return 0.05 + _SPEED[profile] * each * count
