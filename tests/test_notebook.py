"""What a notebook shows of an object: small, well formed, nothing from elsewhere, names as text."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from synafa import Atoms, Run, SynAFA

NAMES = ["<b>left</b>", 'the "right" & other', "noise", "lab"]


@pytest.fixture(scope="module")
def policy():
    bits = np.random.default_rng(0).integers(0, 2, (400, 4))
    return SynAFA(budget=3).fit(pl.DataFrame(bits, schema=NAMES), np.where(bits[:, 0] ^ bits[:, 1], "<i>", "no"))


@pytest.fixture(scope="module")
def table():
    return pl.DataFrame(np.random.default_rng(1).integers(0, 2, (300, 4)), schema=NAMES)


def shown(value):
    """The text of what is shown, after the checks that hold for all of them."""
    html = value._repr_html_()
    root = ElementTree.fromstring(html)  # one element, closed and escaped as it should be
    assert not re.search(r"<script|(src|href)\s*=|url\(|@import", html)
    assert html.count("http") == html.count('xmlns="http://www.w3.org/2000/svg"')
    assert len(html) < 60_000
    assert not list(root.iter("b"))
    assert not list(root.iter("i"))
    return " ".join(text.strip() for text in root.itertext() if text.strip())


def test_a_graph_is_drawn(policy):
    text = shown(policy.decision_graph())
    assert "<b>left</b>" in text
    assert "training cases" in text


def test_a_large_graph_is_drawn_in_part_and_says_so():
    X = np.random.default_rng(0).normal(size=(3000, 8))
    graph = SynAFA(budget=8, cost_weight=0).fit(X, X.sum(axis=1) > 0).decision_graph(8, 0)
    assert len(graph.nodes) > 60
    assert f"most visited of {len(graph.nodes)} states" in shown(graph)


def test_a_run_tells_its_ways_most_frequent_first(policy, table):
    run = policy.acquire(table)
    text = shown(run)
    assert f"300 rows, {run.n_acquired.mean():.2f} features and a cost of {run.cost.mean():.2f} each on average" in text
    ways, counts = np.unique(run.order, axis=0, return_counts=True)
    first = " → ".join(NAMES[j] for j in ways[counts.argmax()] if j >= 0)
    assert re.search(rf"\b300\b.*{re.escape(first)} {counts.max()} ", text)
    many = replace(run, order=np.array([np.random.default_rng(i).permutation(4) for i in range(300)]))
    assert re.search(r"and \d+ more ways", shown(many))


@pytest.mark.parametrize("rows", [0, 5])
def test_a_run_without_acquisitions_is_shown_too(rows):
    nothing = np.zeros((rows, 0), np.int32)
    run = Run(nothing, nothing.astype(np.int8), np.zeros((rows, 2), bool), np.zeros(rows), ("a", "b"))
    assert f"{rows} rows" in shown(run)
    assert ("nothing" in shown(run)) == (rows > 0)


def test_tables_show_the_strongest_features_and_pairs(policy):
    tables = policy.tables_
    text = shown(tables)
    assert "4 features, 2 classes, 400 rows" in text
    assert f"0 and 1 {tables.pair[0, 1]:.4f}" in text
    best = int(tables.single.argmax())
    assert f"{best} {tables.single[best]:.4f}" in text


def test_atoms_show_the_most_synergistic_and_the_most_redundant_pairs(policy):
    atoms = policy.tables_.pid()
    text = shown(atoms)
    assert f"0 and 1 {atoms.redundant[0, 1]:.4f}" in text
    assert f"{atoms.synergy[0, 1]:.4f}" in text
    one = np.zeros((1, 1))
    assert "1 feature" in shown(Atoms(one, one, one))
