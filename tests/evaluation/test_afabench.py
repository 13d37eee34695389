"""SynAFA in the benchmark's shape, tested against a stand-in of its protocol and of its hard-budget loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synafa.errors import SynafaError
from synafa.evaluation.afabench import MethodAdapter, PolicyFromMethod, SynAFAMethod, read_dataset
from synafa.policy.synafa import SynAFA


class Frequencies:
    """A classifier that answers the same for everyone."""

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.tile(np.float32([0.25, 0.75]), (len(values), 1))


class LowestFirst:
    """A method of the benchmark: the lowest-index hidden feature, stop when all are known."""

    device = torch.device("cpu")

    def act(
        self,
        masked_features: torch.Tensor,
        feature_mask: torch.Tensor,
        selection_mask: torch.Tensor | None = None,
        label: torch.Tensor | None = None,
        feature_shape: Any = None,
    ) -> torch.Tensor:
        hidden = ~feature_mask
        return torch.where(hidden.any(1), hidden.float().argmax(1) + 1, 0)[:, None]

    def predict(self, masked_features: torch.Tensor, feature_mask: torch.Tensor) -> torch.Tensor:
        return torch.full((len(masked_features), 2), 0.5)


def benchmark_loop(method: Any, X: torch.Tensor, steps: int) -> list[list[int]]:
    """Stand-in for the benchmark: ask, reveal, until stop or `steps` acquisitions."""
    mask = torch.zeros(X.shape, dtype=torch.bool)
    taken: list[list[int]] = [[] for _ in X]
    stopped = torch.zeros(len(X), dtype=torch.bool)
    for _ in range(steps):
        action = method.act(X * mask, mask, selection_mask=mask, label=None, feature_shape=X.shape[1:])
        assert action.shape == (len(X), 1)
        assert not action.is_floating_point()
        for row, choice in enumerate(action[:, 0].tolist()):
            stopped[row] |= choice == 0
            if not stopped[row]:
                mask[row, choice - 1] = True
                taken[row].append(choice - 1)
    return taken


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).integers(0, 2, size=(400, 5)).astype(np.float32)
    return X, (X[:, 1].astype(int) ^ X[:, 3].astype(int))


@pytest.fixture
def policy(rows: tuple[np.ndarray, np.ndarray]) -> SynAFA:
    return SynAFA(budget=2).fit(*rows)


def test_the_benchmark_sees_the_episodes_synafa_runs(rows: Any, policy: SynAFA) -> None:
    X = rows[0][:40]
    taken = benchmark_loop(SynAFAMethod(policy, budget=2), torch.from_numpy(X), 5)
    own = [[i for i in row if i >= 0] for row in policy.acquire(X).order.tolist()]
    assert taken == own


def test_forced_it_spends_the_budget_and_unforced_it_may_stop(rows: Any, policy: SynAFA) -> None:
    X = torch.from_numpy(rows[0][:10])
    policy_alone = SynAFAMethod(policy)
    policy_alone.set_cost_param(10.0)
    assert benchmark_loop(policy_alone, X, 3) == [[]] * 10, "nothing promises ten bits"
    policy_alone.force_acquisition = True
    assert benchmark_loop(policy_alone, X, 3) == [[0, 1, 2]] * 10


def test_what_the_budget_cannot_pay_is_never_asked(rows: Any) -> None:
    priced = SynAFA(budget=3, costs=[1.0, 4.0, 1.0, 1.0, 1.0]).fit(*rows)
    method = SynAFAMethod(priced, budget=3, force_acquisition=True)
    for taken in benchmark_loop(method, torch.from_numpy(rows[0][:20]), 5):
        assert 1 not in taken
        assert len(taken) == 3


def test_earlier_selections_are_not_repeated_and_shapes_are_flattened(rows: Any, policy: SynAFA) -> None:
    method = SynAFAMethod(policy, force_acquisition=True)
    X = torch.zeros(2, 1, 5)
    nothing = torch.zeros(2, 1, 5, dtype=torch.bool)
    made = torch.tensor([[True, True, True, True, False]] * 2)
    assert method.act(X, nothing, made, feature_shape=torch.Size([1, 5])).tolist() == [[5], [5]]
    with pytest.raises(SynafaError, match="single features"):
        method.act(X, nothing, made[:, :2])


def test_saved_and_loaded_it_acts_the_same(rows: Any, policy: SynAFA, tmp_path: Path) -> None:
    method = SynAFAMethod(policy, budget=2, force_acquisition=True)
    method.set_seed(1)
    method.save(tmp_path / "method")
    again = SynAFAMethod.load(tmp_path / "method", torch.device("cpu")).to("cpu")
    assert again.device == torch.device("cpu")
    X = torch.from_numpy(rows[0][:20])
    assert benchmark_loop(again, X, 5) == benchmark_loop(method, X, 5)
    with pytest.raises(SynafaError, match=r"method\.json"):
        SynAFAMethod.load(tmp_path)


def test_predictions_come_from_the_classifier_given(policy: SynAFA) -> None:
    X = torch.zeros(3, 5)
    p = SynAFAMethod(policy, Frequencies()).predict(X, X.bool())
    assert p.dtype == torch.float32
    assert p.tolist() == [[0.25, 0.75]] * 3
    with pytest.raises(SynafaError, match="no classifier"):
        SynAFAMethod(policy).predict(X, X.bool())


def test_a_method_becomes_a_policy_and_back(rows: Any) -> None:
    there = PolicyFromMethod(LowestFirst())
    mask = np.array([[True, False, True, False, False], [True] * 5])
    assert there.propose(rows[0][:2] * mask, mask, np.array([1.0, 1.0])).tolist() == [1, -1]
    assert there.propose(rows[0][:2] * mask, mask, np.array([0.0, 0.0])).tolist() == [-1, -1]
    assert there.predict_proba(rows[0][:2], mask).tolist() == [[0.5, 0.5]] * 2
    back = MethodAdapter(there, classifier=there)
    X = torch.from_numpy(rows[0][:4])
    assert benchmark_loop(back, X, 3) == benchmark_loop(LowestFirst(), X, 3)


def test_the_benchmarks_tensors_become_a_dataset(tmp_path: Path) -> None:
    sizes = {"train": 6, "validation": 2, "test": 3}
    for part, n in sizes.items():
        labels = torch.eye(3)[torch.arange(n) % 3]
        torch.save({"features": torch.full((n, 1, 2, 2), float(n)), "labels": labels}, tmp_path / f"{part}.pt")
    data = read_dataset(*(tmp_path / f"{part}.pt" for part in sizes), name="toy", budgets=(2,))
    assert data.X.shape == (11, 4)
    assert data.n_classes == 3
    for part, n in sizes.items():
        assert (data.X[getattr(data, part)] == n).all()
        assert data.y[getattr(data, part)].tolist() == [i % 3 for i in range(n)]


def test_a_file_that_would_execute_something_is_refused(tmp_path: Path) -> None:
    torch.save({"features": Frequencies(), "labels": torch.zeros(1)}, tmp_path / "bad.pt")
    with pytest.raises(SynafaError, match="plain tensors"):
        read_dataset(*[tmp_path / "bad.pt"] * 3, name="bad")
