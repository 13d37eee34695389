"""A stored plan tree decides, explains and predicts as before, and holds no training rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from synafa.errors import SynafaError
from synafa.plan.plan_tree import PlanTree
from tests.plan.stand_ins import context

pytestmark = pytest.mark.slow


def frame(n: int = 400, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    X, y, _ = context(n=n, seed=seed, block=1)
    kinds = np.where(X[:, 0] > 0.5, "right", "left")
    table = pl.DataFrame({"kind": kinds, "a": X[:, 1], "b": X[:, 2]})
    return table, np.where(y == 1, "ill", "well")


@pytest.fixture(scope="module")
def policy() -> PlanTree:
    table, y = frame()
    return PlanTree(budget=2, costs={"a": 1.5}).fit(table, y, target="illness")


def test_a_round_trip_changes_nothing(policy: PlanTree, tmp_path: Path) -> None:
    path = tmp_path / "model.synafa"
    policy.save(path)
    again = PlanTree.load(path)
    table, _ = frame(seed=1)
    one, two = policy.acquire(table), again.acquire(table)
    np.testing.assert_array_equal(one.order, two.order)
    values = policy.encode(table)
    np.testing.assert_array_equal(policy.predict_proba(values, one.mask), again.predict_proba(values, one.mask))
    assert policy.next_feature({"kind": "left"}) == again.next_feature({"kind": "left"})
    assert again.decision_graph() == policy.decision_graph()


def test_no_training_rows_are_stored(policy: PlanTree) -> None:
    arrays, meta = policy.to_arrays()
    n = len(policy.judged_rows_)
    assert all(n not in array.shape for array in arrays.values())
    assert "rows" not in meta


def test_a_damaged_tree_is_refused(policy: PlanTree) -> None:
    arrays, meta = policy.to_arrays()
    for name, wrong in [("tree_items", 99), ("tree_stop", 10_000), ("tree_feature", 55)]:
        broken = {key: array.copy() for key, array in arrays.items()}
        broken[name][...] = wrong
        with pytest.raises(SynafaError, match="damaged"):
            PlanTree.from_arrays(broken, meta)
    with pytest.raises(SynafaError, match="fit and save"):
        PlanTree.from_arrays({key: array for key, array in arrays.items() if key != "prices_price"}, meta)


def test_words_of_text_columns_are_categories(policy: PlanTree) -> None:
    labels = {edge.label for edge in policy.decision_graph().edges}
    if not policy.tree_.is_panel:
        assert labels & {"kind = left", "kind = right"}
    with pytest.raises(SynafaError, match="left, right"):
        policy.next_feature({"kind": "middle"})
