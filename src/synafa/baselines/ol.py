"""OL, opportunistic learning (Kachuee et al. 2019): a DQN paid for how far each measurement moves the prediction.

A P-network with dropout predicts; a Q-network beside it reads the same input and P's activations. Acquiring a pays
||p(after) - p(before)||_1 / c_a, p being the mean over many dropout passes. Two variants: input [x*m, m] or x*m.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from synafa.baselines.common import Rows, adam
from synafa.baselines.dropout import dropout
from synafa.baselines.layers import as_one_vector, gradients_of
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.ol_kernels import mean_of_passes
from synafa.baselines.rl import (
    Arena,
    Frames,
    Replay,
    affordable,
    collect,
    double_q_value,
    epsilon_greedy,
    lambda_returns,
    target_copy,
    unit_costs,
)
from synafa.baselines.rl_training import PretrainSettings, greedy_loss, run_batches, supervised_start
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings(PretrainSettings):
    """Published numbers: P 64-32-16 with dropout 0.5, 1,000 passes, a replay of 100,000 pieces, 512 of them a batch."""

    with_mask: bool = True
    hidden: tuple[int, ...] = (64, 32, 16)
    dropout: float = 0.5
    passes: int = 1000
    replay: int = 100_000
    drawn: int = 512
    for_images: ClassVar[dict[str, Any]] = {"hidden": (512, 512, 128, 64)}


PROFILES = {
    "paper": Settings(),
    "standard": Settings(batches=1500, pretrain_batches=5000, checks=10, passes=100, replay=25_000, drawn=128),
    "quick": Settings(
        batches=250, pretrain_batches=500, pretrain_patience=5, checks=5, passes=32, replay=25_000, drawn=128
    ),
}


def q_widths(hidden: tuple[int, ...]) -> tuple[int, ...]:
    """q_0 = h_0, q_i = floor(h_{i-1} h_i / (h_{i-1} + q_{i-1})): about as many weights as the P-network has."""
    widths = [hidden[0]]
    for before, width in itertools.pairwise(hidden):
        widths.append(max(1, before * width // (before + widths[-1])))
    return tuple(widths)


class PNetwork(nn.Module):
    """The predictor, with dropout before each ReLU while training."""

    def __init__(self, n_inputs: int, hidden: tuple[int, ...], n_classes: int, dropout: float) -> None:
        super().__init__()
        widths = (n_inputs, *hidden, n_classes)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.dropout = dropout

    def activations(self, inputs: Tensor, training: bool) -> list[Tensor]:
        """The hidden activations and, last, the logits."""
        result = [inputs]
        *hidden_layers, last = self.layers
        for layer in hidden_layers:
            hidden = layer(result[-1])
            result.append(F.relu(dropout(hidden, self.dropout) if training else hidden))
        return [*result[1:], last(result[-1])]

    def forward(self, inputs: Tensor) -> Tensor:
        return self.activations(inputs, self.training)[-1]

    @torch.no_grad()
    def dropout_mean(self, inputs: Tensor, passes: int) -> Tensor:
        """The mean prediction (n, K) over `passes` dropout draws.

        All rows see the same draws, so a pass costs a few random bits per unit instead of per unit and row, what it
        drops is not computed, and the difference of two predictions is not blurred by different draws. The first layer
        is computed once.
        """
        first, *others = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        widths = [first.out_features, *(layer.out_features for layer in others)]
        keep = [self._draw(passes, width) > 0 for width in widths[:-1]]
        keep.append(torch.ones(passes, widths[-1], dtype=torch.bool))
        units = torch.addmm(first.bias[:, None], first.weight, inputs.T).relu_()
        parameters = torch.cat([p.flatten() for layer in others for p in (layer.weight, layer.bias)])
        mean = mean_of_passes(
            units.numpy(), torch.cat(keep, 1).numpy(), parameters.numpy(), np.array(widths), 1.0 / (1.0 - self.dropout)
        )
        return torch.from_numpy(mean)

    def _draw(self, passes: int, width: int) -> Tensor:
        return dropout(torch.ones(passes, width), self.dropout)


class QNetwork(nn.Module):
    """The action values; each layer after the first also reads the P-network's activations, without a gradient."""

    def __init__(self, n_inputs: int, hidden: tuple[int, ...], n_actions: int) -> None:
        super().__init__()
        widths = q_widths(hidden)
        layers = [nn.Linear(n_inputs, widths[0])]
        for i, width in enumerate((*widths[1:], n_actions)):
            layers.append(nn.Linear(widths[i] + hidden[i], width))
        self.layers = nn.ModuleList(layers)

    def forward(self, inputs: Tensor, activations: list[Tensor]) -> Tensor:
        first, *others = self.layers
        out = first(inputs)
        for layer, beside in zip(others, activations):
            out = layer(torch.cat([F.relu(out), beside], dim=-1))
        return out


class _Network(nn.Module):
    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.with_mask = settings.with_mask
        n_inputs = 2 * n_features if settings.with_mask else n_features
        self.p = PNetwork(n_inputs, settings.hidden, n_classes, settings.dropout)
        self.q = QNetwork(n_inputs, settings.hidden, n_features)

    def inputs(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.cat([values, mask.to(values.dtype)], dim=-1) if self.with_mask else values

    def logits(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.p(self.inputs(values, mask))

    def beside(self, inputs: Tensor) -> list[Tensor]:
        """What the Q-network reads of P: its activations without dropout, whatever P is doing otherwise."""
        with torch.no_grad():
            return self.p.activations(inputs, training=False)[:-1]

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        inputs = self.inputs(values, mask)
        return self.q(inputs, self.beside(inputs))


class Written:
    """The network's passes and gradients without autograd; its parameters must have gradients, which are written to.

    Between two layers lies [Q's units, P's units] after their ReLU, in one tensor: what Q's next layer reads.
    """

    def __init__(self, network: _Network) -> None:
        parts = network.p, network.q
        self.p, self.q = (_pairs([p.detach() for p in part.parameters()]) for part in parts)
        self.by_p, self.by_q = (_pairs(gradients_of(part.parameters())) for part in parts)
        self.dropout = network.p.dropout

    def values(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The action values, and what lies between the layers."""
        between: list[Tensor] = []
        read_q = read_p = inputs
        for (weight_q, bias_q), (weight_p, bias_p) in zip(self.q, self.p[:-1]):
            width = len(bias_q)
            units = torch.empty(len(inputs), width + len(bias_p))
            torch.addmm(bias_q, read_q, weight_q.T, out=units[:, :width])
            torch.addmm(bias_p, read_p, weight_p.T, out=units[:, width:])
            between.append(units.relu_())
            read_q, read_p = units, units[:, width:]
        weight_q, bias_q = self.q[-1]
        return torch.addmm(bias_q, read_q, weight_q.T), between

    def set_q(self, inputs: Tensor, between: list[Tensor], gradient: Tensor) -> None:
        """Q's gradients from those of the action values; `between` as `values` returned it for these rows."""
        reads = [inputs, *between]
        for number in reversed(range(len(self.q))):
            _set_layer(self.by_q[number], reads[number], gradient)
            if number:
                own = len(self.q[number - 1][1])
                gradient = torch.mm(gradient, self.q[number][0][:, :own])
                _through_relu(gradient, reads[number][:, :own])

    def set_p(self, inputs: Tensor, y: Tensor, weights: Tensor) -> None:
        """P's gradients of the weighted cross-entropy's mean, with dropout."""
        reads = [inputs]
        for weight, bias in self.p[:-1]:
            reads.append(dropout(torch.addmm(bias, reads[-1], weight.T), self.dropout).relu_())
        weight, bias = self.p[-1]
        gradient = torch.softmax(torch.addmm(bias, reads[-1], weight.T), dim=1)
        gradient.scatter_add_(1, y[:, None], torch.full((len(y), 1), -1.0)).mul_(weights[y, None] / len(y))
        for number in reversed(range(len(self.p))):
            _set_layer(self.by_p[number], reads[number], gradient)
            if number:  # what was dropped is 0 after the ReLU, so its mask need not be kept
                gradient = torch.mm(gradient, self.p[number][0]).mul_(1.0 / (1.0 - self.dropout))
                _through_relu(gradient, reads[number])


def _pairs(tensors: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Weight and bias, weight and bias, ... as pairs."""
    return list(zip(tensors[::2], tensors[1::2]))


def _set_layer(by: tuple[Tensor, Tensor], read: Tensor, gradient: Tensor) -> None:
    """A linear layer's gradients from what it read and its outputs' gradient."""
    torch.mm(gradient.T, read, out=by[0])
    torch.sum(gradient, 0, out=by[1])


def _through_relu(gradient: Tensor, units: Tensor) -> None:
    torch.ops.aten.threshold_backward.grad_input(gradient, units, 0, grad_input=gradient)


class _Learner:
    """Collects a batch of frames, pays for them, and sets the network's gradients from them and from replayed ones."""

    def __init__(self, network: _Network, rows: Rows, settings: Settings, price: Tensor) -> None:
        self.network, self.rows, self.settings, self.price = network, rows, settings, price
        self.weights = rows.weights()
        self.written = Written(network)

    @torch.no_grad()
    def set_gradients(self, arena: Arena, replay: Replay, target: nn.Module, epsilon: float) -> None:
        network, rows = self.network, self.rows

        def choose(arena: Arena) -> Tensor:
            scores, _ = self.written.values(network.inputs(arena.values(), arena.mask))
            return epsilon_greedy(scores, arena.allowed, epsilon)

        frames = collect(arena, choose, self.settings.steps)
        states = torch.cat([frames.mask[:1], frames.after])
        index = torch.cat([frames.rows[:1], frames.rows[:-1]])
        inputs = network.inputs(rows.x[index] * states, states)
        replay.add(frames, self._rewards(frames, inputs))
        self.written.set_p(inputs[1:].flatten(0, 1), rows.y[index[1:].flatten()], self.weights)
        self._value(*replay.draw(self.settings.drawn), arena.costs, target)

    def _rewards(self, frames: Frames, inputs: Tensor) -> Tensor:
        """L1 change of the dropout mean / cost, (T, N); an episode's next state is its step's outcome, once.

        `inputs` (T+1, N, ...) are the first states and what each step led to.
        """
        nothing = torch.zeros(1, inputs.shape[-1])
        seen = self.network.p.dropout_mean(torch.cat([inputs.flatten(0, 1), nothing]), self.settings.passes)
        outcome = seen[:-1].view(*inputs.shape[:2], -1)
        restarted = torch.cat([torch.zeros_like(frames.done[:1]), frames.done[:-1]])
        before = torch.where(restarted[..., None], seen[-1], outcome[:-1])
        return (outcome[1:] - before).abs().sum(-1) / self.price[frames.action]

    def _value(self, old: Frames, reward: Tensor, costs: Tensor, target: nn.Module) -> None:
        """The gradient of the squared distance between the actions' values and their returns."""
        network, written, n = self.network, self.written, old.rows.shape[1]
        inputs = network.inputs(self.rows.x[old.rows] * old.mask, old.mask).flatten(0, 1)
        values, between = written.values(inputs)
        q = values.view(*old.rows.shape, -1)
        beside = [units[n:, len(bias) :] for units, (_, bias) in zip(between, written.q)]
        may = affordable(old.mask[1:], old.remaining[1:], costs)
        following = double_q_value(q[1:], target(inputs[n:], beside).view_as(q[1:]), may)
        returns = lambda_returns(reward, old.done, following, self.settings.trace)
        action = old.action[..., None]
        surplus = q[:-1].gather(-1, action) - returns[..., None]
        gradient = torch.zeros_like(q[:-1]).scatter_(-1, action, surplus * (2 / returns.numel())).flatten(0, 1)
        written.set_q(inputs[:-n], [units[:-n] for units in between], gradient)


class OL(NetworkPolicy):
    """Opportunistic learning."""

    name = "ol"
    profiles = PROFILES
    network_class = _Network
    network_: _Network

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network = self.settings_, self.network_
        arena = Arena.of(self, rows, settings.parallel)
        supervised_start(
            "ol", network.p, network.logits, rows, settings, lambda share: progress(0.1 * share, "ol: predictor")
        )
        network.eval()
        target = target_copy(network.q)
        followed, p, q = as_one_vector(target).detach(), as_one_vector(network.p), as_one_vector(network.q)
        optimiser = adam([p, q], settings.learning_rate)
        replay = Replay(settings.replay, settings.steps, rows.n_features)
        learner = _Learner(network, rows, settings, unit_costs(self.costs_))

        def one_batch(batch: int) -> None:
            learner.set_gradients(arena, replay, target, settings.epsilon(batch))
            optimiser.step()
            followed.lerp_(q.detach(), settings.target_rate)

        parts = {"target": target, "optimiser": optimiser, "arena": arena, "replay": replay}

        def validation_loss() -> float:
            return greedy_loss(network, rows, arena.costs, self.budget_)

        run_batches(network, settings, one_batch, validation_loss, progress, 0.1, "ol: policy", **parts)
