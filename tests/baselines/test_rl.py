"""The acquisition environment: budgets are spent and never exceeded, and returns are what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from synafa.baselines.rl import Arena, LoopSettings, Replay, affordable, collect, double_q_value, lambda_returns
from synafa.baselines.set_encoder import SetEncoder
from synafa.errors import SynafaError


def random_choice(arena: Arena) -> torch.Tensor:
    return torch.rand(arena.allowed.shape).masked_fill(~arena.allowed, -1.0).argmax(1)


@pytest.mark.parametrize("budget", [1, 3, 7])
def test_an_episode_ends_with_exactly_budget_features(budget: int) -> None:
    torch.manual_seed(0)
    arena = Arena(torch.randn(50, 7), torch.ones(7), budget, parallel=32)
    frames = collect(arena, random_choice, 30)
    assert frames.done.any()
    assert (frames.after.sum(-1)[frames.done] == budget).all()
    assert (frames.after.sum(-1)[~frames.done] < budget).all()


def test_unequal_costs_are_spent_until_nothing_is_affordable() -> None:
    torch.manual_seed(0)
    costs = torch.tensor([0.1, 0.2, 0.3, 1.0, 2.5], dtype=torch.float64)
    arena = Arena(torch.randn(50, 5), costs, 1.3, parallel=64)
    frames = collect(arena, random_choice, 40)
    spent = (frames.after * costs).sum(-1)
    assert spent.max() <= 1.3 + 1e-9
    assert not frames.after[..., 4].any(), "a feature beyond the budget was taken"
    assert (frames.done == ~affordable(frames.after, 1.3 - spent, costs).any(-1)).all()


def test_tenths_add_up_to_the_budget() -> None:
    arena = Arena(torch.randn(9, 4), torch.full((4,), 0.1, dtype=torch.float64), 0.3, parallel=8)
    frames = collect(arena, random_choice, 3)
    assert (frames.after[-1].sum(-1) == 3).all()


def test_a_group_is_shown_together_at_the_cost_of_the_one_asked() -> None:
    reveal = torch.eye(4)
    reveal[:2, :2] = 1
    arena = Arena(torch.randn(9, 4), torch.ones(4), 2, reveal, parallel=2)
    after, done = arena.step(torch.tensor([0, 3]))
    assert after.tolist() == [[True, True, False, False], [False, False, False, True]]
    assert arena.remaining.tolist() == [1.0, 1.0]
    assert not done.any()


def test_a_finished_episode_starts_again_on_a_fresh_row_with_the_whole_budget() -> None:
    torch.manual_seed(0)
    arena = Arena(torch.randn(1000, 3), torch.ones(3), 1, parallel=100)
    before = arena.rows
    _, done = arena.step(torch.zeros(100, dtype=torch.long))
    assert done.all()
    assert not arena.mask.any()
    assert (arena.remaining == 1).all()
    assert (arena.rows != before).float().mean() > 0.9


def test_a_budget_below_every_cost_is_refused() -> None:
    with pytest.raises(SynafaError, match="affords no feature"):
        Arena(torch.randn(9, 4), torch.full((4,), 2.0), 1)


def test_returns_without_trace_are_one_step_and_with_full_trace_the_sum() -> None:
    reward = torch.tensor([[1.0], [2.0], [4.0]])
    done = torch.tensor([[False], [True], [False]])
    value = torch.tensor([[10.0], [20.0], [30.0]])
    assert lambda_returns(reward, done, value, 0.0)[:, 0].tolist() == [11.0, 2.0, 34.0]
    assert lambda_returns(reward, done, value, 1.0)[:, 0].tolist() == [3.0, 2.0, 34.0]
    assert lambda_returns(reward, done, value, 0.75)[0, 0] == pytest.approx(1 + 0.25 * 10 + 0.75 * 2)


def test_double_q_takes_the_online_choice_at_the_targets_price_among_allowed() -> None:
    online, target = torch.tensor([[9.0, 2.0, 1.0]]), torch.tensor([[5.0, 6.0, 7.0]])
    assert double_q_value(online, target, torch.tensor([[False, True, True]])).item() == 6.0
    assert double_q_value(online, target, torch.zeros(1, 3, dtype=torch.bool)).item() == 0.0


def test_exploration_falls_over_the_first_half() -> None:
    loop = LoopSettings(batches=100)
    assert [round(loop.epsilon(b), 3) for b in (0, 25, 50, 99)] == [1.0, 0.55, 0.1, 0.1]


def test_replay_keeps_the_latest_pieces_whole() -> None:
    torch.manual_seed(0)
    arena = Arena(torch.randn(20, 5), torch.ones(5), 3, parallel=4)
    replay = Replay(capacity=6, steps=2, n_features=5)
    for _ in range(3):
        frames = collect(arena, random_choice, 2)
        replay.add(frames, frames.action.float())
    assert replay.size == 6
    drawn, reward = replay.draw(50)
    assert (reward == drawn.action).all()
    grown = drawn.mask[1] & ~drawn.mask[0]
    step = ~drawn.done[0]
    assert (grown[step].float().argmax(1) == drawn.action[0][step]).all()


def test_the_set_encoder_reads_observed_entries_like_value_and_one_hot() -> None:
    """The blocks x*w + E_i equal the layer on [x, one-hot(i)] written out, and hidden values do not matter."""
    torch.manual_seed(0)
    encoder = SetEncoder(5)
    values = torch.randn(6, 5)
    mask = torch.rand(6, 5) < 0.5
    mask[0] = False
    out = encoder(values * mask, mask)
    assert torch.allclose(out[0], encoder.empty)
    assert torch.equal(out, encoder(torch.where(mask, values, 99.0), mask))
    weight = torch.cat([encoder.value_weight[:, None], encoder.index_weight.T], dim=1)
    for row in range(1, 6):
        observed = mask[row].nonzero()[:, 0]
        if len(observed) == 0:
            continue
        entries = torch.cat([values[row, observed][:, None], torch.eye(5)[observed]], dim=1)
        memory = encoder.read(entries @ weight.T)
        hidden = cell = torch.zeros(1, 16)
        summary = torch.zeros(1, 32)
        for _ in range(5):
            hidden, cell = encoder.process(summary, (hidden, cell))
            attention = torch.softmax(memory @ hidden[0], 0)
            summary = torch.cat([hidden, (attention @ memory)[None]], dim=1)
        assert torch.allclose(out[row], encoder.write(summary)[0], atol=1e-5)


def test_the_arena_is_deterministic_given_the_seed() -> None:
    def run() -> np.ndarray:
        torch.manual_seed(3)
        arena = Arena(torch.ones(50, 7), torch.ones(7), 3, parallel=8)
        return collect(arena, random_choice, 10).action.numpy()

    assert np.array_equal(run(), run())
