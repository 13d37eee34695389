"""Plan trees and predictors whose parts do not fit each other are refused by the part's name."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from synafa.arrays import write_file
from synafa.errors import SynafaError
from synafa.model.storage import load_bedside, load_model
from tests.faults.plan_models import stored

pytestmark = pytest.mark.slow


def put(value, at=0):
    def change(array):
        array.flat[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("basis.texts", put(65)),
        ("basis.numbers", put(2)),
        ("basis.slot_start", put(10**6, -1)),
        ("basis.slot_of_level", put(99)),
        ("basis.scale", put(0.0)),
        ("basis.grid", put(np.inf)),
        ("heads.weight", lambda array: array * 0),
        ("heads.output", put(1e30)),
        ("base", lambda array: array[:-1].copy()),
    ],
)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["around a plan tree", "around a rule", "bare plan tree"])
def test_a_predictor_that_could_not_predict_is_refused(tmp_path, which, name, change):
    kind, arrays, meta = copy.deepcopy(stored()[which])
    whole = next(key for key in arrays if key.endswith(f"predictor.{name}"))
    arrays[whole] = change(arrays[whole].copy())
    write_file(tmp_path / "m.synafa", kind, arrays, meta)
    for load in (load_model, load_bedside):
        with pytest.raises(SynafaError, match="damaged"):
            load(tmp_path / "m.synafa")


@pytest.mark.parametrize("which", [0, 1, 2], ids=["around a plan tree", "around a rule", "bare plan tree"])
def test_a_predictor_that_is_there_but_not_described_is_refused(tmp_path, which):
    kind, arrays, meta = copy.deepcopy(stored()[which])
    holder = meta["policy"] if which == 0 else meta
    holder["predictor"] = None
    write_file(tmp_path / "m.synafa", kind, arrays, meta)
    for load in (load_model, load_bedside):
        with pytest.raises(SynafaError, match="'predictor' is not described"):
            load(tmp_path / "m.synafa")
