"""Model files of plan trees and classifiers, with predictors, prices and error costs: well signed, contents nonsense.

A file that is not refused must work for everything a model is for, with probabilities that are probabilities.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from synafa import AcquisitionClassifier, ErrorCosts, PlanTree, PriceList, SynAFA
from synafa.arrays import write_file
from synafa.errors import SynafaError
from synafa.model.storage import load_bedside, load_model
from synafa.report.card import write_card
from synafa.web.describe import model_dict
from tests.faults.campaign import one_sentence
from tests.faults.models import mutate_array, mutate_meta

Stored = tuple[str, dict[str, np.ndarray], dict[str, Any]]


@cache
def stored() -> tuple[Stored, ...]:
    """A classifier around a plan tree with panels, groups and error costs; one around SynAFA; a bare plan tree."""
    rng = np.random.default_rng(0)
    n = 400
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 3, n),
            "sex": rng.choice(["f", "m", "x"], n),
            "gap": [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n)],
        }
    )
    a, gap = table["a"].to_numpy(), np.nan_to_num(table["gap"].to_numpy())
    y = np.where((table["sex"].to_numpy() == "f") & (gap > 0), "ill", np.where(a > 0, "ill", "well"))
    prices = PriceList.from_columns(
        ["a", "b", "sex", "gap"],
        [2.0, 1.0, 1.0, 3.0],
        panel=["", "p", "p", ""],
        group=["blood", "", "", "blood"],
        price_in_group=[1.0, None, None, 2.0],
    )
    costs = ErrorCosts(("ill", "well"), np.array([[0.0, 20.0], [5.0, 0.0]]))
    with_costs = AcquisitionClassifier(PlanTree(prices=prices, budget=6.0), error_costs=costs)
    with_costs.fit(table, y, known=["sex"])
    around_rule = AcquisitionClassifier(SynAFA(budget=3)).fit(table, y)
    bare = PlanTree().fit(table, y)
    return (
        ("model", *with_costs.to_arrays()),
        ("model", *around_rule.to_arrays()),
        ("plan-tree", *bare.to_arrays()),
    )


def attempt(rng: np.random.Generator, folder: Path) -> str:
    """A re-signed file with no, one, two or three wrong parts."""
    kind, arrays, meta = copy.deepcopy(stored()[rng.integers(len(stored()))])
    changes = int(rng.integers(0, 4))
    for _ in range(changes):
        if rng.random() < 0.7:
            mutate_array(rng, arrays)
        else:
            mutate_meta(rng, meta)
    path = folder / "model.synafa"
    try:
        write_file(path, kind, arrays, meta)
    except SynafaError as error:
        one_sentence(str(error))
        return "not written"
    ended = judge(path, rng)
    assert changes or ended == "used", "a whole file was refused"
    return ended


def judge(path: Path, rng: np.random.Generator) -> str:
    """`refused` in one sentence by both readers, or `used` by everything a model is for."""
    try:
        model = load_model(path)
    except SynafaError as error:
        one_sentence(str(error))
        try:
            load_bedside(path)  # needs less of the file: it may accept what load_model does not
        except SynafaError as second:
            one_sentence(str(second))
        return "refused"
    asked = load_bedside(path)
    json.dumps(model_dict(asked), allow_nan=False).encode()
    columns = asked.policy_.encoder_.columns_
    case: dict[str, Any] = {}
    for column in [None, *columns]:
        if column is not None:
            case[column.name] = column.categories[0] if column.categories else None if column.kind == "text" else 0.5
        found = asked.next_feature(case)
        shares = np.array(list(found.probabilities.values()))
        assert np.isfinite(shares).all()
        assert abs(shares.sum() - 1) < 1e-6, "no probabilities"
        json.dumps(found.to_dict()).encode()
        str(found).encode()
    rows = pl.DataFrame({c.name: _cells(c, rng) for c in columns})
    policy = getattr(model, "policy_", model)
    run = policy.acquire(rows)
    assert np.isfinite(run.cost).all()
    assert (run.order < len(columns)).all()
    if isinstance(model, AcquisitionClassifier):
        assert np.isfinite(model.predict_proba(rows)).all()
        model.predict(rows)
    policy.decision_graph(max_depth=3).to_html().encode()
    try:
        write_card(asked.get_rules(), path.with_suffix(".html"), ".html", "m", "2020-01-01")
    except SynafaError as error:
        one_sentence(str(error))  # only a tree of one sheet has a card
    return "used"


def _cells(column: Any, rng: np.random.Generator) -> pl.Series:
    if column.kind == "number":
        return pl.Series(np.where(rng.random(20) < 0.2, np.nan, rng.integers(0, 3, 20).astype(float)), strict=False)
    words = [*column.categories, None, "unseen"]
    return pl.Series([words[i] for i in rng.integers(len(words), size=20)], dtype=pl.String)
