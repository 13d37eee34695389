"""What a unit is expected to take on one core: the order of work, the time left, and the estimate of `--dry-run`.

Processor seconds of single units of profile `standard`, by dataset and method, rounded; a unit's record keeps its own
as `processor_seconds`. What has no entry takes a guess by size.
"""

from __future__ import annotations

from collections.abc import Sequence

JUDGE = {
    "ckd": 0.2,
    "actg175": 0.9,
    "bank": 36.0,
    "physionet": 3.8,
    "mnist-loop": 24.0,
    "miniboone": 200.0,
    "cube": 0.3,
}
SWEEP_JUDGE = 10.0

_RL = ("jafa", "ol-with-mask", "ol-without-mask", "odin-model-based", "odin-model-free")
POLICY: dict[str, dict[str, float]] = {
    "ckd": {
        **{"aaco": 0.2, "permutation": 0.8, "cae": 1.0, "gdfs": 0.8, "dime": 0.5, "jafa": 7.5, "ol-with-mask": 14.0},
        **{"ol-without-mask": 14.0, "eddi": 4.0, "eddi-builtin": 4.0},
        **{"odin-model-based": 11.5, "odin-model-free": 11.5, "plan-tree": 0.3},
    },
    "actg175": {
        **{"aaco": 1.0, "permutation": 0.5, "cae": 1.5, "gdfs": 6.0, "dime": 2.5, "jafa": 8.0, "ol-with-mask": 18.0},
        **{"ol-without-mask": 18.0, "eddi": 11.0, "eddi-builtin": 150.0, "odin-model-based": 18.0},
        **{"odin-model-free": 12.0, "plan-tree": 1.5},
    },
    "bank": {
        **{"aaco": 8.0, "permutation": 2.0, "cae": 10.0, "gdfs": 28.0, "dime": 20.0, "jafa": 10.0},
        **{"ol-with-mask": 18.0, "ol-without-mask": 18.0, "plan-tree": 3.0},
    },
    "physionet": {
        **{"aaco": 7.5, "permutation": 0.8, "cae": 5.0, "gdfs": 30.0, "dime": 13.0, "jafa": 10.5},
        **{"ol-with-mask": 20.0, "ol-without-mask": 20.0, "plan-tree": 4.0},
    },
    "sweep": {"aaco": 0.2, "permutation": 1.6, "cae": 9.0, "gdfs": 30.0, "dime": 25.0, "plan-tree": 0.5},
    "mnist-loop": {
        **{"aaco": 13.0, "permutation": 16.5, "synafa": 13.0, "static-single": 3.0, "plan-tree": 36.0},
        **{"gdfs": 640.0, "dime": 270.0},
    },
}
POLICY["cube"] = POLICY["ckd"] | {"gdfs": 2.0, "dime": 1.5, "jafa": 9.0, "odin-model-based": 19.0, "plan-tree": 0.7}
POLICY["cube-costs"] = POLICY["cube"]
_PIXELS, _PIXEL_DRAWS = 28.0, 2.4  # seconds of CAE on 784 pixels, and for each feature that it selects
_GUESS = {"aaco": 6.0, "permutation": 4.0, "cae": 17.0, "gdfs": 40.0, "dime": 60.0, **dict.fromkeys(_RL, 40.0)}
_SPEED = {"paper": 10.0, "standard": 1.0, "quick": 0.04}


def policy_seconds(profile: str, dataset: str, method: str, budgets: Sequence[float], sweep: bool) -> float:
    """A policy unit: training or drawing, running and judging."""
    if (dataset, method) == ("mnist-loop", "cae"):
        seconds = _PIXELS * len(budgets) + _PIXEL_DRAWS * sum(budgets)
    else:
        known = POLICY.get("sweep" if sweep else dataset, {})
        large = 6.0 if dataset == "miniboone" else 1.0
        seconds = known.get(method, large * _GUESS.get(method, 0.5) if not known else 0.5)
    return 0.3 + _SPEED[profile] * seconds


def judge_seconds(profile: str, dataset: str, sweep: bool, count: int) -> float:
    """A unit that trains `count` shared classifiers."""
    each = SWEEP_JUDGE if sweep else JUDGE.get(dataset.removesuffix("-costs"), 8.0)
    return 0.3 + _SPEED[profile] * each * count
