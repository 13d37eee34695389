"""Generated datasets and the exact population information of the sweeps, against the paper's tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from synafa.datasets import calibrate_fixed_v, load, population_pid, population_pid_weights
from synafa.datasets.synthetic import ALPHAS, BACKGROUND, FIXED_V_WEIGHTS
from synafa.errors import SynafaError


def specific_information(joint: np.ndarray) -> np.ndarray:
    """I(Y=y; S) for each y, from counts or probabilities (s, y), written as in Williams and Beer."""
    p = joint / joint.sum()
    p_s, p_y = p.sum(axis=1), p.sum(axis=0)
    return np.array(
        [sum(p[s, y] / p_y[y] * np.log2(p[s, y] / p_s[s] / p_y[y]) for s in range(len(p_s)) if p[s, y]) for y in (0, 1)]
    )


def atoms(counts: np.ndarray) -> tuple[float, float, float]:
    """(V, R, Syn) from joint counts (2, 2, 2) of S1, S2, Y."""
    p_y = counts.sum(axis=(0, 1)) / counts.sum()
    one, two = specific_information(counts.sum(axis=1)), specific_information(counts.sum(axis=0))
    total = p_y @ specific_information(counts.reshape(4, 2))
    redundant = p_y @ np.minimum(one, two)
    return total, redundant, total - p_y @ one - p_y @ two + redundant


@pytest.mark.parametrize(
    ("alpha", "redundant", "synergy", "joint", "fraction"),
    [
        (0.00, "0.0471", "0.0505", "0.0976", "0.518"),
        (0.25, "0.0275", "0.0414", "0.0689", "0.601"),
        (0.50, "0.0117", "0.0637", "0.0754", "0.845"),
        (0.75, "0.0025", "0.1174", "0.1199", "0.979"),
        (1.00, "0.0000", "0.1951", "0.1951", "1.000"),
    ],
)
def test_population_atoms_are_the_papers_to_its_last_digit(alpha, redundant, synergy, joint, fraction):
    pid = population_pid(alpha)
    printed = f"{pid.redundant:.4f}", f"{pid.synergy:.4f}", f"{pid.joint:.4f}", f"{pid.fraction:.3f}"
    assert printed == (redundant, synergy, joint, fraction)
    assert pid.unique1 == pytest.approx(0.0, abs=1e-15)
    assert pid.unique2 == pytest.approx(0.0, abs=1e-15)


def test_the_lattice_is_the_enumeration_of_the_background(monkeypatch):
    """With nine background features all 512 configurations can be listed; the convolution must give the same atoms."""
    from synafa.datasets import population

    weights = BACKGROUND[:9]
    monkeypatch.setattr(population, "BACKGROUND", weights)
    population._background.cache_clear()
    try:
        pid = population_pid_weights(0.4, 0.9)
    finally:
        population._background.cache_clear()
    joint = np.zeros((2, 2, 2))
    for signs in itertools.product((-1, 1), repeat=len(weights)):
        for s1, s2 in itertools.product((0, 1), repeat=2):
            logit = np.dot(signs, weights) + 0.4 * (2 * s1 - 1 + 2 * s2 - 1) + 0.9 * (2 * (s1 ^ s2) - 1)
            p = 1 / (1 + np.exp(-logit))
            joint[s1, s2] += (1 - p, p)
    total, redundant, synergy = atoms(joint)
    assert (pid.joint, pid.redundant, pid.synergy) == pytest.approx((total, redundant, synergy), abs=1e-13)


def test_the_drawn_sweep_approaches_its_population():
    data = load("synergy-sweep", alpha=0.5, n=400_000)
    counts = np.bincount(data.X[:, -2:].astype(int) @ [4, 2] + data.y, minlength=8).reshape(2, 2, 2)
    assert atoms(counts)[0] == pytest.approx(population_pid(0.5).joint, abs=2e-3)


@pytest.mark.parametrize(("fraction", "weights"), FIXED_V_WEIGHTS.items())
def test_calibration_finds_the_papers_weights(fraction, weights):
    found = calibrate_fixed_v(fraction)
    assert found == pytest.approx(weights, abs=1e-3)
    pid = population_pid_weights(*found)
    assert (pid.joint, pid.fraction) == pytest.approx((0.10, fraction), abs=1e-9)


def test_calibration_refuses_what_the_family_cannot_reach():
    with pytest.raises(SynafaError, match=r"at least 0\.51\d\d at v = 0\.1, got: 0\.4"):
        calibrate_fixed_v(0.4)
    with pytest.raises(SynafaError, match="v must be positive"):
        calibrate_fixed_v(0.9, v=1.5)
    with pytest.raises(SynafaError, match="fraction must lie"):
        calibrate_fixed_v(1.2)


@pytest.mark.parametrize(
    ("fraction", "joint", "share"),
    [
        (0.52, "0.1032", "0.512"),
        (0.65, "0.1003", "0.644"),
        (0.78, "0.1003", "0.776"),
        (0.90, "0.1011", "0.896"),
        (1.0, "0.1017", "1.000"),
    ],
)
def test_fixed_v_realises_the_papers_information_in_every_cell(fraction, joint, share):
    """V and Syn/V of the training rows of five instances, pooled."""
    counts = np.zeros((2, 2, 2))
    for instance in range(5):
        data = load("fixed-v", fraction=fraction, instance=instance)
        cells = data.X[data.train][:, -2:].astype(int) @ [4, 2] + data.y[data.train]
        counts += np.bincount(cells, minlength=8).reshape(2, 2, 2)
    assert counts.sum() == 90_000
    total, _, synergy = atoms(counts)
    assert (f"{total:.4f}", f"{synergy / total:.3f}") == (joint, share)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_sweep_has_24_bits_and_one_dear_feature(alpha):
    data = load("synergy-sweep", alpha=alpha, instance=1)
    assert data.X.shape == (30_000, 24)
    assert data.X.dtype == np.float32
    assert data.y.dtype == np.int64
    assert set(np.unique(data.X)) == {0.0, 1.0}
    assert data.feature_names == (*(f"B{i}" for i in range(1, 23)), "S1", "S2")
    assert data.costs.tolist() == [1.0] * 23 + [5.0]
    assert data.budgets == (3.0, 5.0, 8.0)
    assert (len(data.train), len(data.validation), len(data.test)) == (18_000, 6_000, 6_000)


def test_bits_are_drawn_before_classes_from_one_generator():
    data = load("synergy-sweep", alpha=1.0, instance=2)
    rng = np.random.default_rng(2)
    Z = rng.integers(0, 2, size=(30_000, 24))
    logit = (2 * Z[:, :22] - 1) @ np.array(BACKGROUND) + 1.4 * (2 * (Z[:, 22] ^ Z[:, 23]) - 1)
    assert np.array_equal(data.X, Z)
    assert np.array_equal(data.y, rng.random(30_000) < 1 / (1 + np.exp(-logit)))


def test_the_same_instance_is_the_same_data_and_another_is_not():
    assert load("cube", instance=4).fingerprint() == load("cube", instance=4).fingerprint()
    assert load("cube", instance=4).fingerprint() != load("cube", instance=5).fingerprint()
    assert load("synergy-sweep", alpha=0.25).fingerprint() != load("synergy-sweep", alpha=0.5).fingerprint()


def test_a_cube_row_shows_the_bits_of_its_class_at_its_class():
    data = load("cube", noise=0.0, n=500)
    assert data.X.shape == (500, 20)
    assert data.budgets == (3.0, 5.0, 10.0)
    assert data.n_classes == 8
    for x, y in zip(data.X, data.y):
        assert x[y : y + 3].tolist() == [y & 1, y >> 1 & 1, y >> 2 & 1]
    others = np.array([np.delete(x, [y, y + 1, y + 2]) for x, y in zip(data.X, data.y)])
    assert others.mean() == pytest.approx(0.5, abs=0.02)
    assert others.std() == pytest.approx(0.3, abs=0.02)


def test_noise_moves_only_the_bits():
    quiet, loud = load("cube", noise=0.1), load("cube")
    assert quiet.key == "cube[noise=0.1]#0"
    assert loud.key == "cube#0"
    rows, bits = np.arange(1000)[:, None], (loud.y[:, None] >> np.arange(3)) & 1
    columns = loud.y[:, None] + np.arange(3)
    assert (quiet.X[rows, columns] - bits).std() == pytest.approx(0.1, abs=0.01)
    assert (loud.X[rows, columns] - bits).std() == pytest.approx(0.3, abs=0.02)


def test_the_context_of_cube_nm_names_the_block_that_holds_the_class():
    data = load("cube-nm", noise=0.0, n=500)
    assert data.X.shape == (500, 55)
    assert data.budgets == (3.0, 5.0, 7.0, 10.0, 14.0)
    assert data.groups == ((0, 1, 2, 3, 4),)
    assert np.all(data.costs == 1.0)
    context = data.X[:, :5].argmax(axis=1)
    assert set(context) == set(range(5))
    for x, c, y in zip(data.X, context, data.y):
        start = 5 + 10 * c + y
        assert x[start : start + 3].tolist() == [y & 1, y >> 1 & 1, y >> 2 & 1]


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("synergy-sweep", {}, "synergy-sweep needs alpha, for example"),
        ("synergy-sweep", {"alpha": 1.5}, "alpha must lie between 0 and 1, got: 1.5"),
        ("synergy-sweep", {"alpha": float("nan")}, "alpha must be a number from 0 on"),
        ("synergy-sweep", {"alpha": "half"}, "alpha must be a number from 0 on, got: 'half'"),
        ("synergy-sweep", {"alpha": 0.5, "noise": 0.1}, "takes the parameters"),
        ("fixed-v", {"fraction": 0.6}, r"fraction must be one of \[0.52, 0.65, 0.78, 0.9, 1.0\], got: 0.6"),
        ("cube", {"n": 2}, "n must be a whole number of at least 5, got: 2"),
        ("cube", {"n": 10.5}, "n must be a whole number"),
        ("cube", {"noise": -1.0}, "noise must be a number from 0 on"),
        ("cube", {"instance": -1}, "instance must be an integer from 0 on, got: -1"),
        ("cube", {"instance": 0.5}, "instance must be an integer"),
    ],
)
def test_a_wrong_parameter_is_named(name, parameters, sentence):
    with pytest.raises(SynafaError, match=sentence):
        load(name, **parameters)
