"""CAE's compiled draws against the plain formulas with the same noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numba import njit

from synafa.baselines.cae import _RelaxedMask
from synafa.baselines.cae_kernels import BLOCK, LOWEST, exp2, hard, keys, log2, relaxed, relaxed_gradient, uniform


@njit
def noise(seed, n, size, d):
    """float32 (n, B, d): the uniform number of each sample, draw and feature."""
    key = keys(seed, n)
    out = np.empty((n, size, d), dtype=np.float32)
    for i in range(n):
        for b in range(size):
            for j in range(d):
                out[i, b, j] = uniform(key[0, i], key[1, i], np.uint32(b * d + j))
    return out


@njit
def each(function, x):
    """A compiled function of every element."""
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = function(x[i])
    return out


def concrete_twin(scores: torch.Tensor, uniforms: np.ndarray, temperature: float) -> torch.Tensor:
    """(n, B, d): softmax((scores - log(-log U)) / temperature), in float64."""
    gumbel = -torch.from_numpy(uniforms.astype(np.float64)).log().neg().log()
    return torch.softmax((scores.double() + gumbel) / temperature, dim=-1)


def spread_scores(size: int, d: int) -> np.ndarray:
    """Scores as training has them: some features likely, most not, one impossible."""
    scores = np.random.default_rng(0).normal(size=(size, d), scale=3.0).astype(np.float32)
    scores[:, 1] = -1e9
    return scores


SHAPES = [(1, 1, 2), (50, 3, 24), (BLOCK + 37, 5, 41), (40, 2, 784)]  # samples, draws, features


@pytest.mark.parametrize("temperature", [10.0, 1.0, 0.1, 0.01])
@pytest.mark.parametrize(("n", "size", "d"), SHAPES)
def test_relaxed_masks_are_the_maximum_of_concrete_draws(n: int, size: int, d: int, temperature: float) -> None:
    scores = spread_scores(size, d)
    draws = concrete_twin(torch.from_numpy(scores), noise(5, n, size, d), temperature).numpy()
    largest, winner, weights, scale = relaxed(scores, 5, n, temperature, True)
    tolerance = 2e-5 / min(temperature, 1.0)  # float32 scores of about 10 are divided by the temperature
    assert np.allclose(weights * scale[:, None], draws.transpose(1, 2, 0), rtol=tolerance, atol=1e-12)
    assert np.allclose(largest.T, draws.max(axis=1), rtol=tolerance, atol=1e-12)
    won = np.take_along_axis(draws, winner.T[:, None].astype(np.int64), axis=1)[:, 0]
    assert np.allclose(won, draws.max(axis=1), rtol=2 * tolerance, atol=1e-12)
    assert np.array_equal(relaxed(scores, 5, n, temperature, False)[0], largest)


@pytest.mark.parametrize("temperature", [10.0, 1.0, 0.1, 0.01])
@pytest.mark.parametrize(("n", "size", "d"), SHAPES)
def test_the_gradient_of_relaxed_masks_is_autograds(n: int, size: int, d: int, temperature: float) -> None:
    scores = torch.from_numpy(spread_scores(size, d)).requires_grad_()
    upstream = torch.randn(n, d, generator=torch.Generator().manual_seed(1))
    draws = concrete_twin(scores, noise(6, n, size, d), temperature)
    (draws.max(dim=1).values * upstream).sum().backward()
    ours = relaxed_gradient(upstream.numpy(), *relaxed(scores.detach().numpy(), 6, n, temperature, True), temperature)
    wanted = scores.grad.numpy()
    assert np.allclose(ours, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max() + 1e-7)


def test_the_mask_of_the_training_has_the_kernels_gradient_and_repeats_with_torchs_generator() -> None:
    scores = torch.randn(3, 5, requires_grad=True)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        mask = _RelaxedMask.apply(scores, 40, 0.7)
        (gradient,) = torch.autograd.grad((mask * torch.arange(5.0)).sum(), scores)
        found.append((mask.detach(), gradient))
    torch.manual_seed(1)
    uniforms = noise(int(torch.randint(2**62, ())), 40, 3, 5)
    twin = concrete_twin(scores, uniforms, 0.7).max(dim=1).values
    (wanted,) = torch.autograd.grad((twin * torch.arange(5.0)).sum(), scores)
    assert torch.allclose(found[0][0], twin.float(), atol=1e-5)
    assert torch.allclose(found[0][1], wanted, atol=1e-4)
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1]))
    assert not torch.allclose(found[0][0], found[2][0], atol=0.1)


def test_hard_draws_are_the_argmax_of_the_same_noise() -> None:
    for n, size, d in SHAPES:
        scores = spread_scores(size, d)
        picked = (scores - np.log(-np.log(noise(7, n, size, d).astype(np.float64)))).argmax(axis=2)
        wanted = np.zeros((n, d), dtype=np.float32)
        np.put_along_axis(wanted, picked, 1.0, axis=1)
        assert np.array_equal(hard(scores, 7, n), wanted)


def test_hard_draws_follow_the_softmax_and_never_take_what_is_pushed_out() -> None:
    scores = np.array([[0.0, 1.0, 2.5, -1e9, -3.0]], dtype=np.float32)
    n = 200_000
    wanted = np.exp(scores[0]) / np.exp(scores[0]).sum()
    share = hard(scores, 8, n).mean(axis=0)
    assert np.all(np.abs(share - wanted) <= 4.5 * np.sqrt(wanted / n))


def test_noise_is_uniform_and_neighbours_are_unrelated() -> None:
    found = noise(9, 1000, 5, 100)
    assert 0.0 < found.min() < 1e-4
    assert 1.0 - 1e-4 < found.max() < 1.0
    counts = np.histogram(found, bins=1000, range=(0.0, 1.0))[0]
    assert abs(((counts - 500.0) ** 2 / 500.0).sum() - 999) < 4.5 * np.sqrt(2 * 999)  # chi-squared
    centred = found - 0.5
    others = [noise(10, 1000, 5, 100) - 0.5]  # another seed, then the next sample, draw and feature
    others += [np.roll(centred, 1, axis=axis) for axis in range(3)]
    for other in others:
        assert abs(float((centred * other).mean()) * 12) < 4.5 / np.sqrt(found.size)
        assert abs(float(((centred**2 - 1 / 12) * (other**2 - 1 / 12)).mean()) * 180) < 4.5 / np.sqrt(found.size)


def test_the_first_samples_noise_does_not_depend_on_how_many_there_are() -> None:
    scores = spread_scores(4, 30)
    few, many = relaxed(scores, 3, 20, 0.5, True)[0], relaxed(scores, 3, 3 * BLOCK, 0.5, True)[0]
    assert np.allclose(few, many[:, :20], rtol=1e-5)


def test_logarithms_and_powers_are_exact_to_a_millionth() -> None:
    rng = np.random.default_rng(0)
    near_one = (1.0 - rng.random(100_000) * 0.01).astype(np.float32)
    near_one = near_one[near_one < 1.0]
    wide = np.exp(rng.uniform(-20.0, 20.0, 100_000)).astype(np.float32)
    for x in (near_one, wide, np.array([2.0**-24, 1.0 - 2.0**-24], dtype=np.float32)):
        exact = np.log2(x.astype(np.float64))
        assert np.all(np.abs(each(log2, x) - exact) <= 1e-6 * np.abs(exact))
    x = np.concatenate([rng.uniform(float(LOWEST), 0.0, 100_000), -rng.random(100_000), [0.0]]).astype(np.float32)
    exact = np.exp2(x.astype(np.float64))
    assert np.all(np.abs(each(exp2, x) - exact) <= 1e-6 * exact)
    assert not each(exp2, np.array([-100.5, -1e4, -1e11], dtype=np.float32)).any()
