"""What a unit is expected to take on one core: the order of work, the time left, and the estimate of `--dry-run`.

Medians over the units of a finished run of profile `standard` on two cores (`docs/study/results/units.csv`), by dataset
and method; what has no entry takes a guess by size.
"""

from __future__ import annotations

from collections.abc import Sequence

JUDGE = {
    "ckd": 0.5,
    "actg175": 1.5,
    "bank": 70.0,
    "physionet": 8.0,
    "mnist-loop": 70.0,
    "miniboone": 400.0,
    "cube": 1.0,
}
SWEEP_JUDGE = 12.0

_RL = ("jafa", "ol-with-mask", "ol-without-mask", "odin-model-based", "odin-model-free")
POLICY: dict[str, dict[str, float]] = {
    "ckd": {
        **{"aaco": 0.2, "permutation": 0.8, "cae": 1.5, "gdfs": 0.8, "dime": 1.2, "jafa": 27.0, "ol-with-mask": 51.0},
        **{
            "ol-without-mask": 55.0,
            "eddi": 4.0,
            "eddi-builtin": 6.0,
            "odin-model-based": 25.0,
            "odin-model-free": 20.0,
        },
    },
    "actg175": {
        **{"aaco": 1.0, "permutation": 0.5, "cae": 2.0, "gdfs": 7.5, "dime": 5.5, "jafa": 32.0, "ol-with-mask": 70.0},
        **{"ol-without-mask": 80.0, "eddi": 30.0, "eddi-builtin": 370.0, "odin-model-based": 60.0},
        "odin-model-free": 60.0,
    },
    "bank": {
        **{"aaco": 13.0, "permutation": 2.4, "cae": 14.0, "gdfs": 66.0, "dime": 158.0, "jafa": 118.0},
        **{"ol-with-mask": 149.0, "ol-without-mask": 125.0},
    },
    "physionet": {
        **{"aaco": 9.4, "permutation": 1.4, "cae": 10.0, "gdfs": 64.0, "dime": 60.0, "jafa": 48.0},
        **{"ol-with-mask": 118.0, "ol-without-mask": 127.0},
    },
    "sweep": {"aaco": 0.2, "permutation": 2.3, "cae": 15.0},
    "mnist-loop": {"aaco": 21.0, "permutation": 60.0, "synafa": 10.0, "static-single": 3.0},
}
POLICY["cube"] = POLICY["cube-costs"] = POLICY["ckd"] | {"gdfs": 2.0, "dime": 3.0}
_PIXEL_DRAWS = 30.0  # seconds of CAE on 784 pixels for each feature it selects
_GUESS = {"aaco": 6.0, "permutation": 4.0, "cae": 17.0, "gdfs": 40.0, "dime": 60.0, **dict.fromkeys(_RL, 60.0)}
_SPEED = {"paper": 10.0, "standard": 1.0, "quick": 0.04}


def policy_seconds(profile: str, dataset: str, method: str, budgets: Sequence[float], sweep: bool) -> float:
    """A policy unit: training or drawing, running and judging."""
    if (dataset, method) == ("mnist-loop", "cae"):
        seconds = _PIXEL_DRAWS * sum(budgets)
    else:
        known = POLICY.get("sweep" if sweep else dataset, {})
        large = 6.0 if dataset == "miniboone" else 1.0
        seconds = known.get(method, large * _GUESS.get(method, 0.5) if not known else 0.5)
    return 0.3 + _SPEED[profile] * seconds


def judge_seconds(profile: str, dataset: str, sweep: bool, count: int) -> float:
    """A unit that trains `count` shared classifiers."""
    each = SWEEP_JUDGE if sweep else JUDGE.get(dataset.removesuffix("-costs"), 8.0)
    return 0.3 + _SPEED[profile] * each * count
