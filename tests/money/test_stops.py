"""Stop rules combine, the reason is the right one, and money is spoken of as money."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.money import RULES, States, StopRule, amount, calibrate_floor, percent

NAMES, CLASSES = ["fbs", "thal"], ["healthy", "disease"]
FLOOR = calibrate_floor("sensitivity", np.linspace(0.1, 1, 100), np.ones(100, bool), 0.95, label="disease")


def states(n=1, **changes):
    base = States(
        NAMES,
        CLASSES,
        price=np.tile([5.2, 102.9], (n, 1)),
        open=np.ones((n, 2), dtype=bool),
        measured=np.full(n, 2),
        proba=np.tile([0.3, 0.7], (n, 1)),
        spent=np.full(n, 50.0),
        saving=np.tile([20.0, 41.2], (n, 1)),
    )
    return replace(base, **changes)


def reason(rule, state):
    stops = rule.check(state)
    assert stops.stop[0]
    return stops.reason(0)


def test_without_rules_a_case_stops_only_when_nothing_is_left():
    assert not StopRule().check(states()).stop[0]
    assert StopRule().check(states()).reason(0) is None
    done = reason(StopRule(), states(open=np.zeros((1, 2), bool)))
    assert (done.rule, done.text) == ("complete", "Stop: nothing is left to measure.")


def test_money_speaks_in_money():
    why = reason(StopRule(money=True), states(saving=np.array([[1.0, 41.2]]), price=np.array([[90.0, 102.9]])))
    assert why.text == "Stop: the best remaining test (thal, 102.90) is expected to save 41.20."
    assert (why.rule, why.feature, why.price, why.saving) == ("money", "thal", 102.9, 41.2)
    assert not StopRule(money=True).check(states()).stop[0]  # fbs saves 20 for 5.20
    assert StopRule(money=True).check(states()).best[0] == 0
    assert reason(StopRule(money=True), states(saving=np.array([[5.2, -3.0]]))).feature == "fbs"
    with pytest.raises(SynafaError, match="needs error costs"):
        StopRule(money=True).check(states(saving=None))


def test_what_cannot_be_afforded_is_no_reason_to_go_on():
    worth_it_but_too_dear = states(saving=np.array([[1.0, 500.0]]), remaining=np.array([10.0]))
    why = reason(StopRule(money=True), worth_it_but_too_dear)
    assert (why.rule, why.feature) == ("money", "fbs")


def test_budget_spent_names_what_is_left_and_the_cheapest():
    why = reason(StopRule(budget=53.2), states())
    assert why.text == "Budget spent: 3.20 is left and the cheapest remaining test (fbs) costs 5.20."
    assert (why.rule, why.feature, why.price) == ("budget", "fbs", 5.2)
    assert not StopRule(budget=55.2).check(states()).stop[0]  # just fits
    assert not StopRule(budget=53.2).check(states(remaining=np.array([6.0]))).stop[0]
    with pytest.raises(SynafaError, match="spent or what remains"):
        StopRule(budget=5).check(states(spent=None))


def test_probability_is_that_of_the_decided_class():
    why = reason(StopRule(probability=0.97), states(proba=np.array([[0.02, 0.98]])))
    assert why.text == "Enough: 98 % sure of disease (asked for: 97 %)."
    assert (why.rule, why.label, why.probability) == ("probability", "disease", 0.98)
    # by error costs disease is decided at 3 %; that healthy is probable is not a certainty about disease
    careful = states(proba=np.array([[0.97, 0.03]]), decided=np.array([1]))
    assert not StopRule(probability=0.95).check(careful).stop[0]
    with pytest.raises(SynafaError, match="needs class probabilities"):
        StopRule(probability=0.9).check(states(proba=None))


def test_the_largest_number_of_measurements():
    why = reason(StopRule(max_measurements=2), states())
    assert why.text == "Stop: 2 measurements made, and at most 2 are allowed."
    assert not StopRule(max_measurements=3).check(states()).stop[0]
    assert "1 measurement made" in reason(StopRule(max_measurements=1), states(measured=np.array([1]))).text


def test_a_floor_rules_out():
    low = FLOOR.threshold / 2
    why = reason(StopRule(floor=FLOOR), states(proba=np.array([[1 - low, low]])))
    assert why.rule == "floor"
    assert why.text == (
        f"Enough: disease is ruled out at {percent(low)}, which keeps a sensitivity of at least 95 % "
        "with 95 % confidence."
    )
    assert not StopRule(floor=FLOOR).check(states()).stop[0]
    with pytest.raises(SynafaError, match="'disease', which is none of the classes"):
        StopRule(floor=FLOOR).check(states(classes=["a", "b"]))


def test_a_floor_that_was_not_reached_cannot_be_used():
    few = calibrate_floor("sensitivity", [0.5] * 5, [True] * 5, 0.95, label="disease")
    with pytest.raises(SynafaError, match="at least 59 cases of disease"):
        StopRule(floor=few)


def test_rules_combine_by_row_and_all_that_fired_are_told():
    rule = StopRule(budget=100, max_measurements=4, probability=0.9, money=True)
    batch = states(
        5,
        spent=np.array([99.0, 0, 0, 0, 0]),
        measured=np.array([4, 4, 1, 1, 1]),
        proba=np.array([[0.01, 0.99], [0.5, 0.5], [0.05, 0.95], [0.5, 0.5], [0.5, 0.5]]),
        saving=np.array([[0.0, 0], [0, 0], [9, 9], [0, 0], [9, 9]]),
    )
    stops = rule.check(batch)
    assert stops.stop.tolist() == [True, True, True, True, False]
    assert [RULES[r] if r >= 0 else "" for r in stops.rule] == [
        "budget",
        "max_measurements",
        "probability",
        "money",
        "",
    ]
    assert [RULES[r] for r in np.flatnonzero(stops.fired[0])] == ["budget", "probability", "max_measurements"]


def test_enough_is_never_said_when_the_money_ran_out():
    everything = StopRule(budget=50, max_measurements=2, probability=0.5, money=True, floor=FLOOR)
    for p in (0.0, 0.05, 0.5, 0.99):
        why = reason(everything, states(proba=np.array([[1 - p, p]]), saving=np.zeros((1, 2))))
        assert why.rule == "budget"
        assert "Enough" not in why.text


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"budget": -1}, "budget must be a number of at least 0"),
        ({"budget": "5"}, "budget must be a number"),
        ({"probability": 95}, "above 0 and at most 1"),
        ({"probability": 0}, "above 0 and at most 1"),
        ({"max_measurements": 2.5}, "whole number"),
    ],
)
def test_wrong_settings_are_sentences(settings, sentence):
    with pytest.raises(SynafaError, match=sentence):
        StopRule(**settings)


def test_rules_survive_json_and_describe_themselves():
    rule = StopRule(budget=100, max_measurements=4, probability=0.9, money=True, floor=FLOOR)
    assert StopRule.from_meta(json.loads(json.dumps(rule.to_meta()))) == rule
    assert StopRule.from_meta(StopRule().to_meta()) == StopRule()
    assert rule.describe() == (
        "Stops when the budget of 100.00 pays for nothing more, or disease is ruled out (a floor of 95 %), or a class "
        "has a probability of 90 %, or 4 measurements were made, or no measurement is expected to save more than it "
        "costs."
    )
    with pytest.raises(SynafaError, match="stored stop rule"):
        StopRule.from_meta({"budgets": 3})


def test_numbers_as_people_read_them():
    assert [amount(x) for x in (102.9, 0.05, -0.004, 0, 1e6)] == ["102.90", "0.0500", "-0.00400", "0.00", "1000000.00"]
    assert [percent(x) for x in (0.29, 0.57, 0.99999, 1, 0)] == ["29 %", "57 %", "99.9 %", "100 %", "0 %"]


def test_reasons_are_json():
    why = reason(StopRule(budget=53.2), states())
    assert json.loads(json.dumps(why.to_dict()))["rule"] == "budget"
