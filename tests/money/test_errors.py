"""Error costs are said by class name, decide by expected cost, and contradict nobody silently."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.money import ErrorCosts

CLASSES = ["disease", "healthy"]
MATRIX = [[0.0, 20000.0], [500.0, 0.0]]


def write(tmp_path, text):
    path = tmp_path / "errors.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_words_mapping_and_files_say_the_same(tmp_path):
    words = ErrorCosts.from_words(["disease:healthy=20000", "healthy:disease=500"], CLASSES)
    mapping = ErrorCosts.from_mapping({"healthy": {"disease": 500}, "disease": {"healthy": 20000}}, CLASSES)
    for costs in (words, mapping):
        assert costs.matrix.tolist() == MATRIX
    for text in (
        "true,disease,healthy\ndisease,0,20000\nhealthy,500,0\n",
        "true;healthy;disease\nhealthy;;500,0\ndisease;20 000;0\n",
        "disease\thealthy\n0\t20000\n500\t\n",
    ):
        assert ErrorCosts.from_csv(write(tmp_path, text), CLASSES).matrix.tolist() == MATRIX


def test_numeric_labels_are_matched_by_their_text():
    labels = np.array([0, 1])
    costs = ErrorCosts.from_words(["0:1=151", "1:0=177"], labels)
    assert costs.matrix.tolist() == [[0, 151], [177, 0]]
    assert costs.classes == (0, 1)
    assert ErrorCosts.from_mapping({1: {0: 177}, "0": {1.0: 151}}, [0.0, 1.0]).matrix.tolist() == [[0, 151], [177, 0]]


def test_the_star_stands_for_the_classes_not_named():
    costs = ErrorCosts.from_words(["a:*=5", "a:c=7", "*:a=2", "*:*=1"], "abc")
    assert costs.matrix.tolist() == [[0, 5, 7], [2, 0, 1], [2, 1, 0]]


def test_class_names_may_hold_colons():
    costs = ErrorCosts.from_words(["I:II:no=3", "no:I:II=4"], ["I:II", "no"])
    assert costs.matrix.tolist() == [[0, 3], [4, 0]]


@given(st.integers(2, 5), st.integers(0, 2**31))
def test_expected_costs_and_decisions_are_those_of_the_loop(k, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 50, size=(k, k)) * (1.0 - np.eye(k))
    costs = ErrorCosts(tuple(range(k)), matrix)
    proba = rng.dirichlet(np.ones(k), size=7)
    slow = [[sum(p[t] * matrix[t, d] for t in range(k)) for d in range(k)] for p in proba]
    np.testing.assert_allclose(costs.expected(proba), slow)
    chosen = costs.decide(proba)
    np.testing.assert_allclose(np.array(slow)[np.arange(7), chosen], costs.risk(proba))
    y = rng.integers(0, k, size=7)
    assert costs.of(y, chosen).tolist() == [matrix[t, d] for t, d in zip(y, chosen)]


def test_one_case_is_as_good_as_many():
    costs = ErrorCosts(("a", "b"), np.array(MATRIX))
    assert int(costs.decide([0.05, 0.95])) == 0
    assert int(costs.decide([0.02, 0.98])) == 1


def test_uniform_costs_decide_the_most_probable_class_and_ties_too():
    proba = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    assert (ErrorCosts.uniform(range(4)).decide(proba) == proba.argmax(axis=1)).all()
    free = ErrorCosts((0, 1), np.zeros((2, 2)))
    assert free.decide([[0.2, 0.8], [0.7, 0.3]]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["disease:healthy=20000"], "There is no cost for deciding 'disease' when 'healthy' is true; add healthy:dise"),
        (["diseas:healthy=1"], "unknown class 'diseas'; did you mean 'disease'."),
        (["disease:healthy=-1", "*:*=1"], "is -1.0; it must be a finite number of at least 0."),
        (["disease:healthy=inf", "*:*=1"], "is inf; it must be a finite number of at least 0."),
        (
            ["disease:healthy=lots"],
            "The cost in 'disease:healthy=lots' cannot be read: it holds 'lots', which is no nu",
        ),
        (["disease=5"], "Cannot read the error cost 'disease=5'; write TRUE:DECIDED=COST"),
        (["disease:healthy"], "Cannot read the error cost 'disease:healthy'"),
        (["disease:healthy=5", "disease:healthy=5"], "when 'disease' is true is given twice."),
        (["disease:disease=5", "*:*=1"], "Deciding 'disease' when it is true costs 5; the right decision must cost 0."),
    ],
)
def test_words_that_are_wrong_are_sentences(words, sentence):
    with pytest.raises(SynafaError) as caught:
        ErrorCosts.from_words(words, CLASSES)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "true,disease,healthy\ndisease,0,x\nhealthy,1,0\n",
            "line 2, column 'healthy': the cell holds 'x', which is no",
        ),
        ("true,disease,healthy\ndisease,0,\nhealthy,1,0\n", "line 2, column 'healthy': the cost is missing."),
        ("true,disease,healthy\ndisease,0,-2\nhealthy,1,0\n", "line 2, column 'healthy': the cost of deciding"),
        ("true,disease,healthy\ndisease,3,2\nhealthy,1,0\n", "line 2, column 'disease': deciding 'disease' when it"),
        (
            "true,disease,healthy\ndisease,0,2\nhealty,1,0\n",
            "line 3, column 'true': 'healty' has no column; did you me",
        ),
        ("true,disease,healthy\ndisease,0,2\ndisease,0,2\n", "line 3, column 'true': there are two rows 'disease'."),
        ("true,disease,healthy\ndisease,0,2\n", "have 1 rows and 3 columns"),
        ("disease,disease\n0,2\n1,0\n", "two columns 'disease'"),
        ("disease,well\n0,2\n1,0\n", "unknown class 'well'"),
    ],
)
def test_files_that_are_wrong_are_sentences(tmp_path, text, sentence):
    path = write(tmp_path, text)
    with pytest.raises(SynafaError) as caught:
        ErrorCosts.from_csv(path, CLASSES)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_class_without_a_row_is_named(tmp_path):
    path = write(tmp_path, "disease,healthy\n0,2\n1,0\n")
    with pytest.raises(SynafaError, match="no cost for deciding 'unclear' when 'disease'"):
        ErrorCosts.from_csv(path, [*CLASSES, "unclear"])


def test_costs_survive_json_and_csv(tmp_path):
    costs = ErrorCosts((0, 1, 2), np.array([[0, 0.1, 2], [3, 0, 1e-7], [1e6, 2, 0]]))
    again = ErrorCosts.from_meta(json.loads(json.dumps(costs.to_meta())))
    assert again.to_meta() == costs.to_meta()
    costs.to_csv(tmp_path / "e.csv")
    assert ErrorCosts.from_csv(tmp_path / "e.csv", (0, 1, 2)).to_meta() == costs.to_meta()
    with pytest.raises(SynafaError, match="stored error costs cannot be read"):
        ErrorCosts.from_meta({"classes": [1]})


def test_resolve_takes_what_users_give(tmp_path):
    path = write(tmp_path, "true,disease,healthy\ndisease,0,20000\nhealthy,500,0\n")
    given_ways = (
        {"disease": {"healthy": 20000}, "healthy": {"disease": 500}},
        ["disease:healthy=20000", "healthy:disease=500"],
        str(path),
        path,
        [str(path)],
        np.array(MATRIX),
        MATRIX,
    )
    for spec in given_ways:
        assert ErrorCosts.resolve(spec, CLASSES).matrix.tolist() == MATRIX
    turned = ErrorCosts.resolve(ErrorCosts(tuple(CLASSES), np.array(MATRIX)), CLASSES[::-1])
    assert turned.matrix.tolist() == [[0.0, 500.0], [20000.0, 0.0]]
    assert ErrorCosts.resolve(None, CLASSES) is None
    with pytest.raises(SynafaError, match="form"):
        ErrorCosts.resolve({"disease": 5}, CLASSES)


def test_shapes_are_checked():
    with pytest.raises(SynafaError, match="2 rows and 2 columns"):
        ErrorCosts(("a", "b"), np.zeros((3, 3)))
    with pytest.raises(SynafaError, match="two or more different classes"):
        ErrorCosts(("a", "a"), np.zeros((2, 2)))
    with pytest.raises(SynafaError, match="column for each of the 2 classes"):
        ErrorCosts(("a", "b"), np.zeros((2, 2))).expected(np.ones((1, 3)))
