"""The shared masked MLP: it is trained as published, comes out the same every time, and is trained only once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from synafa.arrays import read_file, write_file
from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.neural import PUBLISHED, MaskedMLP, MLPConfig, config_for, shared_classifier
from synafa.neural import training as tr


def make_dataset(n=600, d=6, seed=0, name="toy"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0.7).astype(np.int64)
    rows = np.arange(n)
    parts = np.split(rows, [int(0.6 * n), int(0.8 * n)])
    names = tuple(f"f{j}" for j in range(d))
    return Dataset(name, 0, X, y, names, np.ones(d), (2.0, 4.0), *parts, source="drawn for a test")


QUICK = MLPConfig(epochs=12, batch=64)


def test_the_settings_are_the_published_table():
    table = {name: (c.epochs, c.batch, c.dropout, c.lo, c.hi) for name, c in PUBLISHED.items()}
    assert table == {
        "ckd": (100, 64, 0.2, 0, 0.9),
        "actg175": (100, 64, 0.2, 0, 0.9),
        "physionet": (100, 128, 0.1, 0, 0.9),
        "bank": (300, 128, 0.1, 0, 0.9),
        "miniboone": (1000, 128, 0.1, 0, 0.9),
        "synergy-sweep": (100, 128, 0.1, 0, 0.9),
        "fixed-v": (100, 128, 0.1, 0, 0.9),
        "mnist-loop": (60, 128, 0.1, 0.75, 0.99),
    }
    assert all((c.hidden, c.learning_rate) == (128, 1e-3) for c in PUBLISHED.values())


def test_standard_differs_from_paper_only_for_miniboone():
    for name in PUBLISHED:
        dataset = make_dataset(name=name)
        same = config_for(dataset, "standard") == config_for(dataset, "paper")
        assert same == (name != "miniboone")
    with pytest.raises(SynafaError, match="`profile` must be one of paper, standard, quick, got: 'fast'"):
        config_for(dataset, "fast")


def test_the_handwritten_gradient_is_torchs_gradient():
    rng = np.random.default_rng(0)
    d, h, k, b, scale = 5, 16, 3, 20, 1 / 0.8
    shapes = tr.layer_shapes(d, h, k)
    flat = torch.from_numpy(tr.initial_parameters(shapes, rng)).double()
    inputs = torch.from_numpy(rng.normal(size=(b, 2 * d)))
    y = torch.from_numpy(rng.integers(0, k, size=b))
    weight = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    kept = torch.from_numpy(rng.random((2, b, h)) >= 0.2)

    reference = flat.clone().requires_grad_()
    w1, b1, w2, b2, w3, b3 = tr.split_flat(reference, shapes)
    hidden = F.relu(F.linear(inputs, w1, b1) * kept[0] * scale)  # dropout before the ReLU
    hidden = F.relu(F.linear(hidden, w2, b2) * kept[1] * scale)
    (F.cross_entropy(F.linear(hidden, w3, b3), y, weight=weight, reduction="sum") / b).backward()

    gradient = torch.full_like(flat, np.nan)
    target, each = F.one_hot(y, k).double(), weight[y][:, None] / b
    layers = tr.split_flat(flat, shapes)
    first = tr.Dense(np.zeros((b, d), np.float32), b)
    first.inputs = inputs
    tr.backward(first, target, each, (kept[0], kept[1]), scale, layers, tr.split_flat(gradient, shapes))
    assert torch.allclose(gradient, reference.grad, atol=1e-12)


def test_the_optimiser_is_adam():
    rng = np.random.default_rng(1)
    start = torch.from_numpy(rng.normal(size=50))
    ours, theirs = start.clone(), start.clone().requires_grad_()
    adam, judge = tr.Adam(ours, 1e-3), torch.optim.Adam([theirs], lr=1e-3)
    for _ in range(30):
        gradient = torch.from_numpy(rng.normal(size=50))
        adam.gradient.copy_(gradient)
        theirs.grad = gradient.clone()
        adam.step()
        judge.step()
    assert torch.allclose(ours, theirs.detach(), atol=1e-12)


def test_class_weights_are_inverse_frequencies_that_sum_to_one():
    weights = tr.class_weights(np.array([0, 0, 0, 1]), 2)
    assert np.allclose(weights, [0.25, 0.75])


def test_it_learns_from_what_is_shown_and_admits_what_is_hidden():
    dataset = make_dataset(n=3000)
    model = MaskedMLP.fit(dataset, MLPConfig(epochs=15))
    X, y = dataset.X[dataset.test], dataset.y[dataset.test]
    everything = np.ones(X.shape, dtype=bool)
    assert (model.predict_proba(X, everything).argmax(axis=1) == y).mean() > 0.88
    blind = model.predict_proba(np.zeros_like(X), ~everything)
    assert np.ptp(blind, axis=0).max() == 0
    # class weights make the prior even, whatever the class frequencies are
    assert abs(blind[0, 1] - 0.5) < 0.15
    assert np.allclose(blind.sum(axis=1), 1, atol=1e-6)


def test_the_kept_epoch_is_the_one_with_the_lowest_validation_loss():
    dataset = make_dataset(n=200)
    config = MLPConfig(epochs=60, batch=32, learning_rate=0.01)  # overfits, so that the last epoch is not the best
    model = MaskedMLP.fit(dataset, config)
    assert model.best_epoch < 60
    X, y = dataset.X[dataset.validation], dataset.y[dataset.validation]
    p = model.predict_proba(X, np.ones(X.shape, dtype=bool))[np.arange(len(y)), y]
    weights = tr.class_weights(dataset.y[dataset.train], 2)[y]
    assert np.isclose((weights * -np.log(p)).mean(), min(model.validation_losses), rtol=1e-4)
    earlier = MaskedMLP.fit(dataset, replace(config, epochs=model.best_epoch))
    assert all(np.array_equal(a, b) for a, b in zip(model.layers, earlier.layers))


def test_training_depends_on_the_seed_and_on_nothing_else():
    dataset = make_dataset()
    before = torch.get_num_threads()
    first = MaskedMLP.fit(dataset, QUICK, seed=3)
    torch.manual_seed(99)
    torch.set_num_threads(2)
    try:
        second = MaskedMLP.fit(dataset, QUICK, seed=3)
    finally:
        torch.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(first.layers, second.layers))
    assert not np.array_equal(first.layers[0], MaskedMLP.fit(dataset, QUICK, seed=4).layers[0])


def test_hidden_values_cannot_leak_into_a_prediction():
    dataset = make_dataset()
    model = MaskedMLP.fit(dataset, QUICK)
    mask = np.random.default_rng(0).random(dataset.X.shape) < 0.5
    hidden = np.where(mask, dataset.X, 0)
    assert np.array_equal(model.predict_proba(hidden, mask), model.predict_proba(np.where(mask, hidden, 9e9), mask))


def test_a_model_survives_a_file(tmp_path):
    dataset = make_dataset()
    model = MaskedMLP.fit(dataset, QUICK, profile="quick")
    model.save(tmp_path / "model.safetensors")
    again = MaskedMLP.load(tmp_path / "model.safetensors")
    everything = np.ones(dataset.X.shape, dtype=bool)
    assert np.array_equal(model.predict_proba(dataset.X, everything), again.predict_proba(dataset.X, everything))
    assert (again.config, again.profile, again.validation_losses) == (QUICK, "quick", model.validation_losses)


def test_altered_foreign_or_older_files_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    model = MaskedMLP.fit(make_dataset(), replace(QUICK, epochs=1))
    model.save(path)
    arrays, meta = read_file(path)
    write_file(path, "masked MLP", arrays, {**meta, "format": "synafa-masked-mlp-0"})
    with pytest.raises(SynafaError, match="this version reads 'synafa-masked-mlp-1'"):
        MaskedMLP.load(path)
    model.save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(SynafaError, match=r"model\.safetensors' is damaged"):
        MaskedMLP.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(SynafaError, match=r"model\.safetensors' is not a synafa file"):
        MaskedMLP.load(path)


def test_a_second_call_trains_nothing(tmp_path):
    dataset = make_dataset()
    epochs: list[float] = []
    first = shared_classifier(dataset, "quick", cache=tmp_path, progress=lambda share, text: epochs.append(share))
    trained = len(epochs)
    assert trained == first.config.epochs
    second = shared_classifier(dataset, "quick", cache=tmp_path, progress=lambda share, text: epochs.append(share))
    assert len(epochs) == trained
    assert all(np.array_equal(a, b) for a, b in zip(first.layers, second.layers))


def test_other_rows_another_seed_or_another_profile_are_trained_anew(tmp_path):
    shared_classifier(make_dataset(), "quick", cache=tmp_path)
    shared_classifier(make_dataset(seed=1), "quick", cache=tmp_path)
    shared_classifier(make_dataset(), "quick", seed=1, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_damaged_cache_entry_is_trained_again(tmp_path):
    model = shared_classifier(make_dataset(), "quick", cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    again = shared_classifier(make_dataset(), "quick", cache=tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(model.layers, again.layers))
    assert MaskedMLP.load(path).seed == 0


def test_the_instances_of_a_sweep_share_the_classifier_of_instance_zero(tmp_path):
    from synafa import datasets

    first = shared_classifier(datasets.load("synergy-sweep", alpha=0.5, instance=0), "quick", cache=tmp_path)
    third = shared_classifier(datasets.load("synergy-sweep", alpha=0.5, instance=3), "quick", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert np.array_equal(first.layers[0], third.layers[0])


def test_wrong_shapes_are_named():
    model = MaskedMLP.fit(make_dataset(), replace(QUICK, epochs=1))
    with pytest.raises(SynafaError, match=r"toy#0 needs values and mask of shape \(n, 6\)"):
        model.predict_proba(np.zeros((3, 5)), np.zeros((3, 5), dtype=bool))


def test_sums_over_what_is_shown_are_the_products_with_the_masked_input():
    rng = np.random.default_rng(3)
    n, d, h, b = 40, 30, 16, 12
    X = rng.normal(size=(n, d)).astype(np.float32) * (rng.random((n, d)) < 0.4)  # black pixels too
    X = X.astype(np.float32)
    rows, shown = rng.permutation(n)[:b], rng.random((b, d)) < 0.3
    shown[0], shown[1] = False, True
    weight, bias = (torch.from_numpy(rng.normal(size=size).astype(np.float32)) for size in ((h, 2 * d), h))
    flow = torch.from_numpy(rng.normal(size=(b, h)).astype(np.float32))
    dense, sparse = tr.Dense(X, b), tr.Sparse(X)
    out, by_input = torch.full((h, 2 * d), np.nan), torch.full((2 * d, h), np.nan)
    for first, w, gradient in ((dense, weight, out), (sparse, weight.T.contiguous(), by_input)):
        first.show(rows, shown)
        first.gradient(flow, gradient)
        naive = np.hstack([X[rows] * shown, shown]) @ weight.numpy().T + bias.numpy()
        np.testing.assert_allclose(first.sums(w, bias).numpy(), naive, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_input.T.numpy(), out.numpy(), rtol=1e-4, atol=1e-5)


def test_a_wide_and_mostly_hidden_table_trains_the_same_classifier_by_sums(monkeypatch):
    dataset = make_dataset(n=500, d=8)
    config = MLPConfig(epochs=3, batch=32, lo=0.5, hi=0.9)
    products = tr.train(dataset, config, seed=2)
    monkeypatch.setattr(tr, "WIDE", 8)
    assert tr.mostly_hidden(8, config)
    sums = tr.train(dataset, config, seed=2)
    for ours, theirs in zip(sums[0], products[0]):
        np.testing.assert_allclose(ours, theirs, atol=2e-4)  # the same numbers, added in another order
    np.testing.assert_allclose(sums[1], products[1], rtol=1e-3)


def test_the_optimiser_is_adam_also_in_one_pass(monkeypatch):
    rng = np.random.default_rng(4)
    start, gradients = rng.normal(size=1000).astype(np.float32), rng.normal(size=(30, 1000)).astype(np.float32)
    found = []
    for most in (10_000, 10):
        monkeypatch.setattr(tr, "_LARGE", most)
        adam = tr.Adam(torch.from_numpy(start.copy()), 1e-2)
        for gradient in gradients:
            adam.gradient.copy_(torch.from_numpy(gradient))
            adam.step()
        found.append(adam.flat.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
    assert not np.allclose(found[0], start)
