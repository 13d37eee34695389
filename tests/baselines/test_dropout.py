"""Dropout from few bits is dropout: its share, its scale, its gradient, its draws from torch's generator."""

import numpy as np
import pytest
import torch

from synafa.baselines.dropout import Dropout, dropout
from synafa.baselines.dropout_kernels import LEVELS, keep_mask

_WORD = (1 << 64) - 1


def naive_mask(seed, n, dropped, scale):
    """SplitMix64 with Python's whole numbers, four entries of 16 bits out of each."""
    mask = []
    for i in range(-(-n // 4)):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & _WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        z ^= z >> 31
        mask += [scale if (z >> (16 * part)) % LEVELS >= dropped else 0.0 for part in range(4)]
    return np.array(mask[:n], dtype=np.float32)


@pytest.mark.parametrize(("seed", "n"), [(0, 1), (12345, 7), ((1 << 63) - 2, 64), (987654321987654321, 1003)])
def test_the_kernel_is_splitmix(seed, n):
    np.testing.assert_array_equal(keep_mask(seed, n, 19661, 1 / 0.7), naive_mask(seed, n, 19661, 1 / 0.7))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_share_dropped_is_p_in_every_place(p):
    torch.manual_seed(0)
    kept = torch.stack([dropout(torch.ones(64), p) for _ in range(4000)])
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)])
    share = (kept == 0).float().mean(0)
    error = (p * (1 - p) / 4000) ** 0.5
    assert float((share - p).abs().max()) < 4.5 * error
    together = ((kept[:, :-1] == 0) & (kept[:, 1:] == 0)).float().mean()  # neighbours fall independently
    assert float(together) == pytest.approx(p * p, abs=0.004)


def test_the_gradient_goes_through_what_is_kept():
    torch.manual_seed(1)
    x = torch.randn(9, 5, requires_grad=True)
    out = dropout(x, 0.4)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (out / x).detach().numpy(), rtol=1e-6)


def test_draws_follow_torchs_generator():
    x = torch.ones(100)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5), first)
    assert torch.equal(dropout(x, 0.5), second)
    assert not torch.equal(first, second)


def test_nothing_is_dropped_in_use_or_with_p_0():
    x = torch.randn(4, 4)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)
