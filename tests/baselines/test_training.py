"""The registry lists every method, and `train` stores, finds and repairs what it trained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from synafa.baselines import REGISTRY, load, save, train
from synafa.baselines.permutation import PermutationImportance
from synafa.baselines.registry import find
from synafa.baselines.training import load_state, save_state, stored_or_built
from synafa.errors import SynafaError
from tests.baselines.baseline_tasks import one_feature_decides


def test_the_ten_methods_are_listed_without_importing_torch() -> None:
    code = "import sys, synafa.baselines as b; print(len(b.REGISTRY), 'torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) >= 10
    assert out[1] == "False"
    json.dumps([entry.as_row() for entry in REGISTRY.values()])


def test_an_unknown_method_or_profile_is_named_in_the_error() -> None:
    with pytest.raises(SynafaError, match="'nonsense'"):
        find("nonsense")
    with pytest.raises(SynafaError, match="'slow'"):
        find("cae").settings("slow")
    with pytest.raises(SynafaError, match="classifier"):
        train("aaco", one_feature_decides(), 2)


def test_a_second_training_is_read_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = one_feature_decides(300)
    first = train("permutation", dataset, 2, profile="quick", cache=tmp_path)

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("trained again")

    with monkeypatch.context() as patch:
        patch.setattr(PermutationImportance, "fit", refuse)
        again = train("permutation", dataset, 2, profile="quick", cache=tmp_path)
        assert np.array_equal(again.order, first.order)
        assert again.profile == "quick"
        with pytest.raises(AssertionError, match="trained again"):
            train("permutation", dataset, 2, profile="quick", seed=1, cache=tmp_path)
        with pytest.raises(AssertionError, match="trained again"):
            train("permutation", one_feature_decides(300, seed=3), 2, profile="quick", cache=tmp_path)
        # The budget does not enter this method's training, so another budget is the same model.
        train("permutation", dataset, 5, profile="quick", cache=tmp_path)


def test_a_damaged_cache_entry_is_trained_again(tmp_path: Path) -> None:
    dataset = one_feature_decides(300)
    first = train("permutation", dataset, 2, profile="quick", cache=tmp_path)
    (stored,) = tmp_path.glob("*.safetensors")
    stored.write_bytes(stored.read_bytes()[:40])
    with pytest.raises(SynafaError, match="cut off"):
        load_state(stored)
    again = train("permutation", dataset, 2, profile="quick", cache=tmp_path)
    assert np.array_equal(again.importance_, first.importance_)
    assert load_state(stored)[1]["profile"] == "quick"


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_state(tmp_path / "model.safetensors", {"a": np.zeros(2)}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_shared_part_is_built_once(tmp_path: Path) -> None:
    built = []

    def build() -> tuple[dict[str, np.ndarray], dict[str, int]]:
        built.append(1)
        return {"a": np.arange(3)}, {"size": 3}

    for _ in range(2):
        arrays, meta = stored_or_built(tmp_path / "part.safetensors", build)
        assert arrays["a"].tolist() == [0, 1, 2]
        assert meta == {"size": 3}
    assert len(built) == 1


def test_saved_and_loaded_policies_carry_their_profile(tmp_path: Path) -> None:
    policy = train("permutation", one_feature_decides(300), 2, profile="quick", cache=False)
    save(policy, tmp_path / "policy.safetensors")
    again = load(tmp_path / "policy.safetensors")
    assert (again.name, again.profile, again.faithful) == ("permutation", "quick", False)
    assert np.array_equal(again.order, policy.order)


def test_progress_never_goes_back_and_ends_at_one() -> None:
    seen: list[float] = []
    train(
        "gdfs", one_feature_decides(300), 2, profile="quick", cache=False, progress=lambda share, _: seen.append(share)
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
