"""Feature acquisition as a reinforcement-learning environment made of tensors, and the returns learned from it.

`Arena` runs many episodes side by side: a state is (row, mask, remaining budget), an action reveals a feature (and its
group) at its cost, and an episode ends when nothing hidden is affordable any more: a hard budget is always spent and
never exceeded. Under a hard budget nobody may stop, so stopping is not an action.
Returns are undiscounted: G_t = r_t + (1 - done_t) * ((1 - lambda) * V(s_{t+1}) + lambda * G_{t+1}).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import Rows
from synafa.baselines.policy import BaselinePolicy
from synafa.baselines.settings import MethodSettings
from synafa.errors import SynafaError
from synafa.money.prices import TOLERANCE


@dataclass(frozen=True)
class LoopSettings(MethodSettings):
    """The shared loop: how many frames, how they are explored, and how their returns are formed.

    checks > 0 (never in the paper profile) looks at the greedy policy's validation loss that many times in the second
    half, keeps the best network and stops after `check_patience` checks without a better one.
    """

    batches: int = 10_000
    parallel: int = 128
    steps: int = 4  # 128 x 4 = 512 frames a batch
    trace: float = 0.75
    learning_rate: float = 1e-3
    target_rate: float = 0.005
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1
    checks: int = 0
    check_patience: int = 5

    def epsilon(self, batch: int) -> float:
        """The exploration rate of a batch: linear from start to end over the first half, then constant."""
        share = min(1.0, batch / max(1, self.batches // 2))
        return self.epsilon_start + share * (self.epsilon_end - self.epsilon_start)


@dataclass(frozen=True, eq=False)
class Frames:
    """T steps of N parallel episodes. Index t of the (T+1)-long arrays is the state before step t, after any reset.

    rows (T+1, N) int64; mask (T+1, N, D) bool; remaining (T+1, N) float64; action (T, N) int64;
    after (T, N, D) bool: the mask the action led to, before a finished episode was replaced; done (T, N) bool
    """

    rows: Tensor
    mask: Tensor
    remaining: Tensor
    action: Tensor
    after: Tensor
    done: Tensor


class Arena:
    """Many acquisition episodes over the same rows, advanced together; finished ones start again on fresh rows."""

    def __init__(
        self,
        X: Tensor,
        costs: Tensor,
        budget: float,
        reveal: Tensor | None = None,
        parallel: int = 128,
    ) -> None:
        self.X = X
        self.costs = costs.double()
        self.budget = float(budget)
        self.reveal = None if reveal is None else reveal.bool()
        self.start_allowed = self.costs <= self.budget + TOLERANCE
        if not bool(self.start_allowed.any()):
            cheapest = float(self.costs.min())
            raise SynafaError(f"The budget {budget:g} affords no feature; the cheapest costs {cheapest:g}.")
        self.rows = self._fresh(parallel)
        self.mask = torch.zeros((parallel, X.shape[1]), dtype=torch.bool)
        self.remaining = torch.full((parallel,), self.budget, dtype=torch.float64)
        self.allowed = self.start_allowed.expand(parallel, -1)

    @classmethod
    def of(cls, policy: BaselinePolicy, rows: Rows, parallel: int) -> Arena:
        """Episodes of a policy's own training rows, at its costs and within its budget."""
        return cls(rows.x, torch.from_numpy(policy.costs_), policy.budget_, rows.reveal, parallel)

    def state_dict(self) -> dict[str, Tensor]:
        """The episodes under way, and the rows they are played on (synthetic ones cannot be made again)."""
        names = ("X", "rows", "mask", "remaining", "allowed")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def _fresh(self, n: int) -> Tensor:
        return torch.randint(len(self.X), (n,))

    def values(self) -> Tensor:
        """float32 (N, D): what each episode has seen, 0 where hidden."""
        return self.X[self.rows] * self.mask

    def step(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """Acquire `action` (N,); returns the masks it led to and which episodes it ended, and restarts those."""
        new = self.mask.scatter(1, action[:, None], True)
        after = new if self.reveal is None else new | self.reveal[action]
        remaining = self.remaining - self.costs[action]
        allowed = affordable(after, remaining, self.costs)
        done = ~allowed.any(1)
        again = done[:, None]
        self.rows = torch.where(done, self._fresh(len(done)), self.rows)
        self.mask = after & ~again
        self.remaining = remaining.masked_fill(done, self.budget)
        self.allowed = torch.where(again, self.start_allowed, allowed)
        return after, done


def affordable(mask: Tensor, remaining: Tensor, costs: Tensor) -> Tensor:
    """bool (..., D): hidden and within what remains."""
    return ~mask & (costs <= remaining[..., None] + TOLERANCE)


def collect(arena: Arena, choose: Callable[[Arena], Tensor], steps: int) -> Frames:
    """Advance all episodes by `steps` decisions of `choose`."""
    rows, masks, remaining = [arena.rows], [arena.mask], [arena.remaining]
    actions, afters, dones = [], [], []
    for _ in range(steps):
        action = choose(arena)
        after, done = arena.step(action)
        actions.append(action)
        afters.append(after)
        dones.append(done)
        rows.append(arena.rows)
        masks.append(arena.mask)
        remaining.append(arena.remaining)
    return Frames(
        torch.stack(rows),
        torch.stack(masks),
        torch.stack(remaining),
        torch.stack(actions),
        torch.stack(afters),
        torch.stack(dones),
    )


def greedy(scores: Tensor, allowed: Tensor) -> Tensor:
    """The best allowed action of each row."""
    return scores.masked_fill(~allowed, -torch.inf).argmax(-1)


def epsilon_greedy(scores: Tensor, allowed: Tensor, epsilon: float) -> Tensor:
    """The best allowed action, or with probability epsilon a uniformly drawn allowed one."""
    random = greedy(torch.rand(allowed.shape), allowed)
    explore = torch.rand(len(allowed)) < epsilon
    return torch.where(explore, random, greedy(scores, allowed))


def lambda_returns(reward: Tensor, done: Tensor, next_value: Tensor, trace: float) -> Tensor:
    """TD(lambda) returns, all (T, N); past the last step the value stands in for the rest of the episode."""
    goes_on = (~done).to(reward.dtype)
    result = torch.empty_like(reward)
    following = next_value[-1]
    for t in range(len(reward) - 1, -1, -1):
        following = reward[t] + goes_on[t] * ((1 - trace) * next_value[t] + trace * following)
        result[t] = following
    return result


def double_q_value(online: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """The target network's value of the action the online network prefers; 0 where nothing is allowed."""
    best = greedy(online, allowed)
    return target.gather(-1, best[..., None]).squeeze(-1).masked_fill(~allowed.any(-1), 0.0)


def target_copy(network: nn.Module) -> nn.Module:
    """A copy that is moved, never trained."""
    return copy.deepcopy(network).requires_grad_(False)


@torch.no_grad()
def soft_update(target: nn.Module, online: nn.Module, rate: float) -> None:
    """target += rate * (online - target)."""
    torch._foreach_lerp_(list(target.parameters()), [p.detach() for p in online.parameters()], rate)


class Replay:
    """A ring of the latest `capacity` trajectory pieces (T steps each), drawn uniformly; values are looked up."""

    def __init__(self, capacity: int, steps: int, n_features: int) -> None:
        n = max(1, capacity)
        self.rows = torch.zeros((n, steps + 1), dtype=torch.int32)
        self.mask = torch.zeros((n, steps + 1, n_features), dtype=torch.bool)
        self.remaining = torch.zeros((n, steps + 1), dtype=torch.float64)
        self.action = torch.zeros((n, steps), dtype=torch.int32)
        self.done = torch.zeros((n, steps), dtype=torch.bool)
        self.reward = torch.zeros((n, steps), dtype=torch.float32)
        self.size = 0
        self.next = 0

    def add(self, frames: Frames, reward: Tensor) -> None:
        n = frames.action.shape[1]
        at = (torch.arange(n) + self.next) % len(self.rows)
        self.rows[at] = frames.rows.T.int()
        self.mask[at] = frames.mask.transpose(0, 1)
        self.remaining[at] = frames.remaining.T
        self.action[at] = frames.action.T.int()
        self.done[at] = frames.done.T
        self.reward[at] = reward.T
        self.next = (self.next + n) % len(self.rows)
        self.size = min(self.size + n, len(self.rows))

    def state_dict(self) -> dict[str, Any]:
        names = ("rows", "mask", "remaining", "action", "done", "reward")
        filled = {name: getattr(self, name)[: self.size] for name in names}
        return {**filled, "size": self.size, "next": self.next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.size, self.next = state["size"], state["next"]
        for name in ("rows", "mask", "remaining", "action", "done", "reward"):
            getattr(self, name)[: self.size] = state[name]

    def draw(self, n: int) -> tuple[Frames, Tensor]:
        """n pieces and their rewards (T, n); `after` is not kept and comes back empty."""
        at = torch.randint(self.size, (n,))
        mask = self.mask[at].transpose(0, 1)
        frames = Frames(
            self.rows[at].T.long(),
            mask,
            self.remaining[at].T,
            self.action[at].T.long(),
            mask[:0],
            self.done[at].T,
        )
        return frames, self.reward[at].T


def unit_costs(costs: np.ndarray) -> Tensor:
    """Costs scaled to mean 1, the unit in which rewards count them."""
    return torch.as_tensor(costs / costs.mean(), dtype=torch.float32)


@torch.no_grad()
def spend(
    score: Callable[[Tensor, Tensor], Tensor],
    X: Tensor,
    costs: Tensor,
    budget: float,
    reveal: Tensor | None = None,
) -> Tensor:
    """The masks (n, D) after acquiring greedily by `score(values, mask)` until nothing more is affordable."""
    shows = torch.eye(X.shape[1], dtype=torch.bool) if reveal is None else reveal.bool()
    mask = torch.zeros(X.shape, dtype=torch.bool)
    remaining = torch.full((len(X),), float(budget), dtype=torch.float64)
    going = torch.arange(len(X))
    while len(going):
        allowed = affordable(mask[going], remaining[going], costs)
        open_rows = allowed.any(1)
        going, allowed = going[open_rows], allowed[open_rows]
        if len(going) == 0:
            break
        action = greedy(score(X[going] * mask[going], mask[going]), allowed)
        mask[going] |= shows[action]
        remaining[going] -= costs[action]
    return mask
