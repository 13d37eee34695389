"""EDDI: each row's samples are its own, its score is the formula, and it is greedy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from synafa.baselines.eddi import EDDI, PROFILES, AnyReader, LayersReader, VAEReader
from synafa.errors import SynafaError
from tests.baselines import acquisition_tasks as tasks

pytestmark = pytest.mark.slow  # every test trains a network

QUICK = PROFILES["quick"]
BUILTIN = replace(QUICK, builtin=True)


class Layered:
    """A masked MLP known by its layers only, random weights."""

    def __init__(self, d: int, n_classes: int) -> None:
        rng = np.random.default_rng(0)
        shapes = [(16, 2 * d), (16,), (8, 16), (8,), (n_classes, 8), (n_classes,)]
        self.layers = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        out = np.concatenate([values * mask, mask], axis=1).astype(np.float32)
        for i in (0, 2, 4):
            out = (np.maximum(out, 0) if i else out) @ self.layers[i].T + self.layers[i + 1]
        p = np.exp(out - out.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def task() -> Any:
    return tasks.branch()


@pytest.fixture(scope="module")
def policy(task: Any) -> EDDI:
    return EDDI().fit(task, 2, BUILTIN, seed=0)


def some_states(task: Any, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    mask = np.random.default_rng(1).random((n, task.n_features)) < 0.3
    return task.X[task.test[:n]] * mask, mask


def test_the_deciding_feature_is_taken_first() -> None:
    one = tasks.decisive()
    order, mask = tasks.spend(EDDI().fit(one, 2, BUILTIN, seed=0), one, 2)
    assert (order[:, 0] == 3).mean() > 0.95
    assert (mask.sum(1) == 2).all()


def test_it_beats_every_fixed_pair_by_adapting(task: Any, policy: EDDI) -> None:
    order, mask = tasks.spend(policy, task, 2)
    assert (order[:, 0] == 0).all()
    assert tasks.accuracy(policy, task, mask) > 0.9


def test_with_the_shared_classifier_it_adapts_too(task: Any, policy: EDDI) -> None:
    """The built-in classifier serves as any outside classifier would."""
    shared = EDDI().fit(task, 2, QUICK, seed=0, classifier=policy)
    _, mask = tasks.spend(shared, task, 2)
    assert tasks.accuracy(policy, task, mask) > 0.9


def test_a_permuted_target_destroys_the_advantage() -> None:
    noise = tasks.branch(permuted=True)
    blind = EDDI().fit(noise, 2, BUILTIN, seed=0)
    assert tasks.accuracy(blind, noise, tasks.spend(blind, noise, 2)[1]) < 0.4


def test_it_cannot_see_an_xor_pair_because_it_looks_one_step_ahead() -> None:
    """Either feature alone leaves p(y) where it was, so the first choice is blind: the pair is not taken everywhere."""
    pair = tasks.xor()
    greedy = EDDI().fit(pair, 2, BUILTIN, seed=0)
    values = torch.zeros(1, pair.n_features)
    gains = greedy.scores(values, values.bool())[0]
    seen_one = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0]])
    then = greedy.scores(seen_one, seen_one.bool())[0]
    assert gains.max() < 0.2 * then[3]
    assert then.argmax() == 3, "once one member is known the other is worth most"


def test_imagined_values_are_narrower_than_real_ones_so_that_a_first_choice_is_close(task: Any, policy: EDDI) -> None:
    """The squared error of decoded samples rewards a narrow posterior: before anything is known every score is near 0.

    With the training rows' own values in place of the imagined ones, the branching feature is worth most by far.
    """
    empty = torch.zeros(1, task.n_features)
    with torch.no_grad():
        imagined = policy.decoded(empty, empty.bool())[0].std(dim=0)
        reader = policy.reader()
        start = reader.start(empty, empty.bool())
        now = reader.plain(start)
        real = []
        for i in range(task.n_features):
            values = torch.from_numpy(np.ascontiguousarray(task.X[task.train[:512], i]))[None]
            then = reader.extended(start, torch.tensor([i]), values)
            real.append(float((then.exp() * (then - now[:, None])).sum(-1).mean()))
    assert float(imagined.max()) < 0.5 * float(task.X[task.train].std(axis=0).min())
    assert real[0] > 1.5 * max(real[1:])
    assert float(policy.scores(empty, empty.bool()).max()) < 0.5 * real[0]


def test_samples_belong_to_their_own_row(task: Any, policy: EDDI) -> None:
    values, mask = some_states(task)
    together = policy.scores(torch.from_numpy(values), torch.from_numpy(mask))
    decoded = policy.decoded(torch.from_numpy(values), torch.from_numpy(mask))
    for row in range(len(values)):
        alone = torch.from_numpy(values[row : row + 1]), torch.from_numpy(mask[row : row + 1])
        assert torch.allclose(policy.decoded(*alone)[0], decoded[row], atol=1e-5)
        assert torch.allclose(policy.scores(*alone)[0], together[row], atol=1e-5)


def test_the_score_is_the_mean_divergence_over_cost(task: Any, policy: EDDI) -> None:
    outside = Layered(task.n_features, 4)
    shared = EDDI.from_state(*EDDI().fit(task, 2, QUICK, seed=0).state())
    shared.classifier = outside
    shared.costs_ = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    values, mask = some_states(task)
    scores = shared.scores(torch.from_numpy(values), torch.from_numpy(mask)).numpy()
    imagined = shared.decoded(torch.from_numpy(values), torch.from_numpy(mask)).numpy()
    now = outside.predict_proba(values, mask)
    for row, i in np.argwhere(~mask):
        beside, known = np.repeat(values[[row]], 32, 0), np.repeat(mask[[row]], 32, 0)
        beside[:, i], known[:, i] = imagined[row, :, i], True
        then = outside.predict_proba(beside, known)
        expected = (then * np.log(then / now[row])).sum(1).mean() / (shared.costs_[i] / 2)
        assert scores[row, i] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_the_short_cuts_agree_with_asking_in_full(task: Any, policy: EDDI) -> None:
    outside = Layered(task.n_features, 4)
    values, mask = (torch.from_numpy(a) for a in some_states(task))
    feature = (~mask).float().argmax(1)
    x = torch.randn(len(values), 3)
    for fast, slow in (
        (LayersReader(outside.layers), AnyReader(outside, 6)),
        (VAEReader(policy.network_.vae), AnyReader(policy, 6)),
    ):
        with torch.no_grad():
            one = fast.extended(fast.start(values, mask), feature, x)
            two = slow.extended(slow.start(values, mask), feature, x)
        assert torch.allclose(one.exp(), two.exp(), atol=1e-4)


def test_costs_stored_state_and_repeated_proposals(task: Any, policy: EDDI) -> None:
    again = EDDI.from_state(*policy.state())
    values, mask = some_states(task)
    again.costs_ = policy.costs_ = np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    remaining = np.full(len(values), 2.0)
    one, two = policy.propose(values, mask, remaining), again.propose(values, mask, remaining)
    policy.costs_ = np.ones(6)
    assert np.array_equal(one, two)
    assert (one != 0).all(), "it cannot be afforded"


def test_without_the_shared_classifier_it_says_so(task: Any) -> None:
    tiny = replace(QUICK, max_batches=2)
    with pytest.raises(SynafaError, match="shared classifier"):
        tasks.spend(EDDI().fit(task, 2, tiny, seed=0), task, 2)


def test_equal_states_are_scored_once_and_every_row_gets_its_choice(
    task: Any, policy: EDDI, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, mask = (np.concatenate([array, array[::-1], array]) for array in some_states(task))
    remaining = np.full(len(values), 2.0)
    expected = policy.best(policy.ask(policy.scores, values, mask), mask, remaining)
    asked = []
    scores = policy.scores
    monkeypatch.setattr(policy, "scores", lambda v, m: asked.append(len(v)) or scores(v, m))
    hidden = np.where(mask, values, np.random.default_rng(2).normal(size=values.shape))  # must not matter
    assert np.array_equal(policy.propose(hidden, mask, remaining), expected)
    assert sum(asked) == len({(v.tobytes(), m.tobytes()) for v, m in zip(values * mask, mask)}) <= 12
