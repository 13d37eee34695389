"""A training that is interrupted goes on inside the model and ends with the same numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synafa.baselines import REGISTRY, partial_vae, train
from synafa.datasets import load
from synafa.neural import resume
from synafa.neural.shared import shared_classifier
from tests.baselines.baseline_tasks import one_feature_decides

# fewer steps than `quick`, several loops each
SHORT = {
    "permutation": {"epochs": 8},
    "cae": {"epochs": 2, "least_steps": 0, "temperatures": (10.0, 0.01, 3)},
    "gdfs": {"epochs": 2, "pretrain_epochs": 3, "least_steps": 0, "temperatures": (1.0, 0.1, 3)},
    "dime": {"epochs": 6, "pretrain_epochs": 3, "least_steps": 0},
    "jafa": {"batches": 120, "pretrain_batches": 200, "checks": 3},
    "ol-with-mask": {"batches": 120, "pretrain_batches": 200, "checks": 3, "passes": 4, "replay": 300},
    "odin-model-based": {"batches": 120, "max_batches": 300, "first_check": 100, "checks": 3},
}


class Stop(Exception):
    """Raised in the middle of a training."""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save after every step, as if each took half a minute; no VAE from another test's memory."""
    monkeypatch.setattr(resume, "EVERY", 0.0)
    monkeypatch.setattr(partial_vae, "_FITTED", type(partial_vae._FITTED)())


def stop_after(calls: int):
    """A progress callback that raises at its n-th call."""
    seen = []

    def progress(share: float, text: str) -> None:
        seen.append(share)
        if len(seen) == calls:
            raise Stop

    return progress


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_an_interrupted_training_ends_with_the_same_policy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eager: None
) -> None:
    entry = REGISTRY[name]
    profiles = entry.module().PROFILES
    monkeypatch.setitem(profiles, "quick", replace(profiles["quick"], **SHORT[name]))
    dataset = one_feature_decides(300)

    def run(folder: str, progress=None):
        partial_vae._FITTED.clear()
        return train(name, dataset, 2, profile="quick", seed=3, cache=tmp_path / folder, progress=progress)

    whole = run("whole").state()[0]
    stops = 0
    for calls in (1, 2, 2):  # interrupted three times, each time further on
        with pytest.raises(Stop):
            run("pieces", stop_after(calls))
        stops += len(list((tmp_path / "pieces").glob("*.unfinished")))
    assert stops >= 2, "nothing was stored when it was interrupted"
    pieces = run("pieces").state()[0]
    assert whole.keys() == pieces.keys()
    for key, array in whole.items():
        np.testing.assert_array_equal(array, pieces[key], err_msg=key)
    assert not list((tmp_path / "pieces").glob("*.unfinished"))


def test_what_was_stored_is_really_used(tmp_path: Path, eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run makes fewer steps than the first."""
    profiles = REGISTRY["permutation"].module().PROFILES
    monkeypatch.setitem(profiles, "quick", replace(profiles["quick"], epochs=8, patience=99, least_steps=0))
    dataset, seen = one_feature_decides(300), []
    with pytest.raises(Stop):
        train("permutation", dataset, 2, profile="quick", cache=tmp_path, progress=stop_after(6))
    train("permutation", dataset, 2, profile="quick", cache=tmp_path, progress=lambda share, text: seen.append(share))
    assert len(seen) <= 4  # two or three epochs and the word that it is trained


KILLED = """
import os, signal, sys
from synafa.datasets import load
from synafa.neural import resume
from synafa.neural.shared import shared_classifier
resume.EVERY = 0.0
def progress(share, text):
    if share > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
shared_classifier(load("cube", n=400), profile="quick", seed=1, cache=sys.argv[1], progress=progress)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_a_classifier_that_goes_on(tmp_path: Path) -> None:
    dataset = load("cube", n=400)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "pieces")], env=os.environ.copy())
    assert done.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "pieces").glob("*.unfinished"))) == 1
    told: list[float] = []
    again = shared_classifier(
        dataset, "quick", 1, cache=tmp_path / "pieces", progress=lambda share, text: told.append(share)
    )
    assert told[0] > 0.4  # not from the start
    whole = shared_classifier(dataset, "quick", 1, cache=tmp_path / "whole")
    for ours, theirs in zip(again.layers, whole.layers):
        np.testing.assert_array_equal(ours, theirs)
    assert again.validation_losses == whole.validation_losses
    assert not list((tmp_path / "pieces").glob("*.unfinished"))


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "x.unfinished"
    path.write_bytes(b"nonsense")
    counted = []
    with resume.resuming(path):
        counted += list(resume.resumable("loop", 3, kept={}))
    assert counted == [0, 1, 2]
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gdfs", "dime", "jafa", "ol-with-mask"])
def test_what_does_not_look_at_the_budget_is_trained_once_for_all_budgets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second budget finds the first stage done, and ends with the numbers it has when trained alone."""
    profiles = REGISTRY[name].module().PROFILES
    monkeypatch.setitem(profiles, "quick", replace(profiles["quick"], **SHORT[name]))
    dataset = one_feature_decides(300)

    def states(folder: str, budget: int, seed: int = 3) -> dict[str, np.ndarray]:
        return train(name, dataset, budget, profile="quick", seed=seed, cache=tmp_path / folder).state()[0]

    alone = states("alone", 3)
    states("together", 2)
    stages = list((tmp_path / "together").glob("stage-*"))
    assert len(stages) == 1
    written = stages[0].stat().st_mtime_ns
    found = states("together", 3)
    assert list((tmp_path / "together").glob("stage-*")) == stages
    assert stages[0].stat().st_mtime_ns == written
    for key, array in alone.items():
        np.testing.assert_array_equal(array, found[key], err_msg=key)
    states("together", 3, seed=4)
    assert len(list((tmp_path / "together").glob("stage-*"))) == 2
