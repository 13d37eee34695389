"""`synafa fit` of a table with very many columns: the policy alone, or one sentence."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from synafa.cli.app import run
from synafa.information import wide
from synafa.model.storage import load_model
from synafa.policy.wide_rule import WideRule


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A CSV with 30 columns that counts as wide."""
    monkeypatch.setattr(wide, "DENSE_LIMIT", -1)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 30))
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(30)]).with_columns(ill=pl.Series(X[:, 4] ^ X[:, 9]))
    frame.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def test_a_wide_table_becomes_a_policy_alone_and_next_says_what_it_keeps(table, tmp_path, capsys):
    output = tmp_path / "m.synafa"
    words = ["fit", str(table), "--target", "ill", "--policy", "synafa", "--budget", "3", "-o", str(output)]
    assert run(words) == 0
    assert "Note: of 30 features no predictor is learnt" in capsys.readouterr().err
    assert isinstance(load_model(output).rule_, WideRule)
    assert run(["next", str(output), "--observed", "g4=1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Measure g9 (cost 1): given g4 > 0.5, it tells 1.000 bits about ill")
    assert any("this model keeps those that decisions can reach" in line for line in said)


@pytest.mark.parametrize("more", [("--errors", "1:0=5", "0:1=1"), ("--enough", "0.9"), ("--most", "2")])
def test_what_needs_a_predictor_is_refused_in_a_sentence(table, tmp_path, capsys, more):
    words = ["fit", str(table), "--target", "ill", "--policy", "synafa", *more]
    assert run([*words, "-o", str(tmp_path / "m.synafa")]) == 2
    assert "need a predictor, and of 30 features none is learnt" in capsys.readouterr().err
    assert not (tmp_path / "m.synafa").exists()


def test_a_plan_tree_of_too_many_columns_names_the_other_policy(table, tmp_path, capsys):
    assert run(["fit", str(table), "--target", "ill", "-o", str(tmp_path / "m.synafa")]) == 2
    said = capsys.readouterr().err
    assert "holds all pairs of features, which of 30 take 56.2 KiB; use SynAFA (synafa fit --policy synafa)" in said
    assert not (tmp_path / "m.synafa").exists()
