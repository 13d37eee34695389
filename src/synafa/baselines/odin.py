"""ODIN (Zannone et al. 2019): PPO on top of a frozen partial VAE.

The state is the VAE's posterior mean (20 numbers); policy and value are linear in it. Each step pays the probability of
the true class after it, minus a cost term that is 0 under a hard budget. The model-based variant also trains on as many
synthetic rows as there are real ones: decoded from z ~ N(0, I), labelled by the VAE's classifier.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from synafa.baselines.common import Rows, adam, hard_draw
from synafa.baselines.layers import Layers, as_one_vector
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.odin_kernels import clipped_gradient
from synafa.baselines.partial_vae import PartialVAE, PosteriorMean, VAESettings, shared_vae, vae_part
from synafa.baselines.rl import Arena, LoopSettings, lambda_returns
from synafa.baselines.rl_training import greedy_loss, run_batches
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings(LoopSettings, VAESettings):
    """Published numbers: clip 0.2, entropy 0.01, one pass over each 512 frames (in minibatches of `minibatch`)."""

    model_based: bool = True
    clip: float = 0.2
    entropy: float = 0.01
    minibatch: int = 128


PROFILES = {
    "paper": Settings(),
    "standard": Settings(
        max_batches=10_000, vae_patience=20, partial_check=True, small_batch=True, batches=1500, checks=10
    ),
    "quick": Settings(
        max_batches=600, first_check=200, vae_patience=5, partial_check=True, small_batch=True, batches=250, checks=5
    ),
}


@dataclass(frozen=True, eq=False)
class Rollout:
    """T steps of N episodes as PPO needs them: state means (T, N, 20), allowed (T, N, D), action, log probability."""

    state: Tensor
    allowed: Tensor
    action: Tensor
    log_probability: Tensor
    reward: Tensor
    done: Tensor
    next_state: Tensor


class _Network(nn.Module):
    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.vae = PartialVAE(settings, n_features, n_classes)
        self.policy = nn.Linear(settings.latent, n_features)
        self.value = nn.Linear(settings.latent, 1)

    def mean(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.vae.encode(values, mask)[0]

    def logits(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.vae.classifier(self.mean(values, mask))

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.policy(self.mean(values, mask))

    def log_policy(self, state: Tensor, allowed: Tensor) -> Tensor:
        return torch.log_softmax(self.policy(state).masked_fill(~allowed, -1e9), dim=-1)


class ODIN(NetworkPolicy):
    """Optimal discovery of high-value information."""

    name = "odin"
    profiles = PROFILES
    network_class = _Network
    network_: _Network

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network, costs = self.settings_, self.network_, torch.from_numpy(self.costs_)
        Arena.of(self, rows, 1)  # refuses a budget that affords nothing, before the VAE
        network.vae = shared_vae(dataset, rows, vae_part(settings), seed, lambda s, t: progress(0.5 * s, t))
        x, y = (rows.x, rows.y) if not settings.model_based else with_synthetic(network.vae, rows)
        arena = Arena(x, costs, self.budget_, rows.reveal, settings.parallel)
        heads = nn.ModuleList([network.policy, network.value])
        optimiser = adam([as_one_vector(heads)], settings.learning_rate)
        reader = Reader(network.vae)
        nothing = reader.mean(torch.zeros(1, rows.n_features), torch.zeros(1, rows.n_features, dtype=torch.bool))
        kept = {"state": reader.mean(arena.values(), arena.mask), "y": y}
        parts = {"optimiser": optimiser, "arena": arena, "episodes": kept}

        def one_batch(batch: int) -> None:
            rollout, kept["state"] = self.roll(arena, reader, kept["state"], nothing, kept["y"])
            self.improve(rollout, optimiser)

        def validation_loss() -> float:
            return greedy_loss(network, rows, costs, self.budget_)

        run_batches(heads, settings, one_batch, validation_loss, progress, 0.5, "odin: policy", **parts)

    @torch.no_grad()
    def roll(self, arena: Arena, reader: Reader, state: Tensor, nothing: Tensor, y: Tensor) -> tuple[Rollout, Tensor]:
        """Advance all episodes; each outcome is encoded once, for its reward and as the next state."""
        network = self.network_
        steps: list[tuple[Tensor, ...]] = []
        for _ in range(self.settings_.steps):
            log_p = network.log_policy(state, arena.allowed)
            action = hard_draw(log_p)
            rows, may = arena.rows, arena.allowed
            after, done = arena.step(action)
            outcome = reader.mean(arena.X[rows] * after, after)
            truth = reader.probabilities(outcome).gather(1, y[rows][:, None])[:, 0]
            taken = log_p.gather(1, action[:, None])[:, 0]
            steps.append((state, may, action, taken, truth, done, outcome))
            state = torch.where(done[:, None], nothing, outcome)
        return Rollout(*(torch.stack(column) for column in zip(*steps))), state

    @torch.no_grad()
    def improve(self, rollout: Rollout, optimiser: torch.optim.Optimizer) -> None:
        """One pass of clipped policy steps and smooth-L1 value steps over the frames."""
        settings, network = self.settings_, self.network_
        following = network.value(rollout.next_state)[..., 0]
        returns = lambda_returns(rollout.reward, rollout.done, following, settings.trace)
        advantage = returns - network.value(rollout.state)[..., 0]
        columns = (rollout.state, rollout.allowed, rollout.action, rollout.log_probability, advantage, returns)
        flat = [column.flatten(0, 1) for column in columns]
        for index in torch.randperm(len(flat[0])).split(settings.minibatch):
            set_gradients(network, settings, *(column[index] for column in flat))
            optimiser.step()


class Reader:
    """What the episodes ask the frozen VAE for."""

    def __init__(self, vae: PartialVAE) -> None:
        self.posterior = PosteriorMean(vae)
        self.classifier = Layers.of(vae.classifier)

    def mean(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.posterior(self.posterior.start(values, mask))

    def probabilities(self, mean: Tensor) -> Tensor:
        return torch.softmax(self.classifier.forward(mean), dim=1)


def set_gradients(network: _Network, settings: Settings, state: Tensor, *taken: Tensor) -> None:
    """Set the heads' gradients to those of PPO's loss on states (n, 20).

    `taken` says what was done there: allowed, action, log probability, advantage and return, as `clipped_gradient`.
    """
    policy, value = network.policy, network.value
    given = [tensor.numpy() for tensor in (policy(state), value(state)[:, 0], *taken)]
    by_scores, by_value = map(torch.from_numpy, clipped_gradient(*given, settings.clip, settings.entropy))
    for layer, flow in ((policy, by_scores), (value, by_value[:, None])):
        torch.mm(flow.T, state, out=layer.weight.grad)
        torch.sum(flow, 0, out=layer.bias.grad)


@torch.no_grad()
def with_synthetic(vae: PartialVAE, rows: Rows) -> tuple[Tensor, Tensor]:
    """The training rows and as many decoded from z ~ N(0, I), labelled by the VAE's classifier."""
    z = torch.randn(len(rows.x), vae.latent)
    return torch.cat([rows.x, vae.decoder(z)]), torch.cat([rows.y, vae.classifier(z).argmax(1)])
