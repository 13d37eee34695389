"""On CUBE (noise 0.1) what to ask next depends on what was seen: the adaptive baselines end clearly above static ones.

Budget 4, 4,000 rows. A policy counts by what the shared classifier makes of the features it acquired, static selection
by the better of permutation importance and CAE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synafa.baselines.common import rows_of
from synafa.baselines.odin import with_synthetic
from synafa.baselines.registry import find
from synafa.datasets import load
from synafa.datasets.dataset import Dataset
from synafa.evaluation.harness import run_policy
from synafa.neural.masked_mlp import MaskedMLP
from synafa.neural.settings import config_for

pytestmark = pytest.mark.slow

BUDGET = 4
CLEARLY = 0.03
VAE = {"max_batches": 5000}  # one for four policies
# Profile, and what differs from it: less training than a user gets, to save time.
ADAPTIVE: dict[str, tuple[str, dict[str, Any]]] = {
    "gdfs": ("quick", {}),
    "dime": ("standard", {}),
    "jafa": ("standard", {}),
    "ol-with-mask": ("standard", {"passes": 32}),
    "ol-without-mask": ("standard", {"passes": 32}),
    "eddi": ("standard", {**VAE, "samples": 32}),
    "eddi-builtin": ("standard", {**VAE, "builtin_samples": 16}),
    "odin-model-based": ("standard", {**VAE, "batches": 1000}),
    "odin-model-free": ("standard", {**VAE, "batches": 1000}),
}
STATIC: dict[str, tuple[str, dict[str, Any]]] = {"permutation": ("quick", {}), "cae": ("quick", {})}


@pytest.fixture(scope="module")
def cube() -> Dataset:
    return load("cube", noise=0.1, n=4000)


@pytest.fixture(scope="module")
def classifier(cube: Dataset) -> MaskedMLP:
    return MaskedMLP.fit(cube, replace(config_for(cube, "quick"), epochs=60))


@pytest.fixture(scope="module")
def static(cube: Dataset, classifier: MaskedMLP) -> float:
    return max(accuracy(fitted(name, cube, classifier), cube, classifier) for name in STATIC)


def fitted(name: str, cube: Dataset, classifier: MaskedMLP) -> Any:
    profile, changes = {**ADAPTIVE, **STATIC}[name]
    entry = find(name)
    settings = replace(entry.settings(profile, cube), **changes)
    return entry.cls()().fit(cube, BUDGET, settings, 0, classifier=classifier)


def accuracy(policy: Any, cube: Dataset, classifier: Any) -> float:
    episodes = run_policy(policy, cube, "test", BUDGET, classifier)
    return float(np.mean(episodes.probabilities[:, -1].argmax(axis=1) == episodes.y))


@pytest.mark.parametrize("method", ADAPTIVE)
def test_it_ends_clearly_above_static_selection(
    method: str, cube: Dataset, classifier: MaskedMLP, static: float
) -> None:
    assert accuracy(fitted(method, cube, classifier), cube, classifier) > static + CLEARLY


def test_eddi_asks_the_vaes_own_classifier_or_the_shared_one_about_the_same_vae(
    cube: Dataset, classifier: MaskedMLP
) -> None:
    builtin, shared = (fitted(name, cube, classifier) for name in ("eddi-builtin", "eddi"))
    assert builtin.network_.vae is shared.network_.vae
    X, y = cube.X[cube.test], cube.y[cube.test]
    mask = np.random.default_rng(0).random(X.shape) < 0.5
    own, outside = (float((c.predict_proba(X * mask, mask).argmax(axis=1) == y).mean()) for c in (builtin, classifier))
    assert outside - 0.15 < own < outside, (own, outside)


def test_odins_synthetic_rows_mostly_carry_a_class_that_their_features_show(
    cube: Dataset, classifier: MaskedMLP
) -> None:
    """Half of what the model-based variant learns from."""
    policy = fitted("odin-model-based", cube, classifier)
    x, y = with_synthetic(policy.network_.vae, rows_of(cube))
    right = classifier.predict_proba(x.numpy(), np.ones(x.shape, dtype=bool)).argmax(axis=1) == y.numpy()
    real, synthetic = right[: len(cube.train)].mean(), right[len(cube.train) :].mean()
    assert 0.5 < synthetic < real, (synthetic, real)
