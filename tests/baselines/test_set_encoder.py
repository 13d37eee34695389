"""The set encoder's compiled pass is the written-out one, forth and back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from synafa.baselines.set_encoder import SetEncoder


def written_out(encoder: SetEncoder, values: Tensor, mask: Tensor) -> Tensor:
    """Row by row with torch's own LSTM cell and softmax."""
    rows = []
    for row in range(len(values)):
        observed = mask[row].nonzero()[:, 0]
        if len(observed) == 0:
            rows.append(encoder.empty)
            continue
        first = values[row, observed][:, None] * encoder.value_weight + encoder.index_weight[observed]
        memory = encoder.read(first)
        hidden = cell = torch.zeros(1, encoder.width)
        summary = torch.zeros(1, 2 * encoder.width)
        for _ in range(encoder.rounds):
            hidden, cell = encoder.process(summary, (hidden, cell))
            attention = torch.softmax(memory @ hidden[0], 0)
            summary = torch.cat([hidden, (attention @ memory)[None]], dim=1)
        rows.append(encoder.write(summary)[0])
    return torch.stack(rows)


def an_encoder(hidden: tuple[int, int] = (32, 32), width: int = 16, rounds: int = 5) -> SetEncoder:
    torch.manual_seed(0)
    encoder = SetEncoder(9, hidden, width, rounds)
    for parameter in encoder.process.parameters():
        torch.nn.init.normal_(parameter, 0, 0.5)
    return encoder


@pytest.mark.parametrize(
    ("n", "hidden", "width", "rounds"), [(150, (32, 32), 16, 5), (3, (5, 9), 7, 2), (64, (8, 4), 6, 1)]
)
def test_output_and_gradients_are_those_of_autograd(n: int, hidden: tuple[int, int], width: int, rounds: int) -> None:
    encoder = an_encoder(hidden, width, rounds)
    values, mask = torch.randn(n, 9), torch.rand(n, 9) < 0.4
    mask[1] = False
    upstream = torch.randn(n, width)
    slow = written_out(encoder, values, mask)
    expected = torch.autograd.grad(slow, list(encoder.parameters()), upstream, allow_unused=True)
    fast = encoder(values, mask)
    assert torch.allclose(fast, slow, atol=1e-5)
    for one, two in zip(torch.autograd.grad(fast, list(encoder.parameters()), upstream), expected):
        assert torch.allclose(one, torch.zeros(()) if two is None else two, rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        assert torch.equal(encoder(values, mask), fast)


def test_where_nothing_is_known_only_the_empty_vector_learns() -> None:
    encoder = an_encoder()
    out = encoder(torch.randn(4, 9), torch.zeros(4, 9, dtype=torch.bool))
    assert torch.equal(out, encoder.empty.expand(4, -1))
    out.sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, torch.full_like(parameter, 4.0 if name == "empty" else 0.0)), name


def test_a_row_does_not_depend_on_its_company() -> None:
    encoder = an_encoder().requires_grad_(False)
    values, mask = torch.randn(130, 9), torch.rand(130, 9) < 0.5
    together = encoder(values, mask)
    for row in (0, 63, 64, 129):
        assert torch.allclose(encoder(values[[row]], mask[[row]])[0], together[row], atol=1e-6)


def test_saturated_gates_and_far_scores_stay_finite() -> None:
    encoder = an_encoder()
    values, mask = 1e4 * torch.randn(20, 9), torch.rand(20, 9) < 0.5
    out = encoder(values, mask)
    out.sum().backward()
    assert bool(torch.isfinite(out).all())
    assert all(bool(torch.isfinite(parameter.grad).all()) for parameter in encoder.parameters())
