"""The demonstration: the patient's bill adds up, rivals are judged on the same rows, and all it promises is written."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from synafa.demo.heart import FILES, KNOWN, MEANINGS, PATIENT, clinic
from synafa.demo.page import COMPARISON, closing, comparison_rows, story_page, values, verdicts
from synafa.demo.rule import RULE
from synafa.demo.run import write_story
from synafa.demo.story import BUDGETS, tell_story
from synafa.demo.walk import bill, told, walk
from synafa.model.storage import load_model
from synafa.proof.prove import MODEL


def test_the_clinic_is_whole():
    data = clinic()
    assert data.features.height == len(data.disease) == 303
    assert set(data.disease) == {"yes", "no"}
    assert set(PATIENT) == set(data.features.columns) == {*KNOWN, *MEANINGS}
    for name, value in PATIENT.items():  # the invented patient has results that the table knows
        if isinstance(value, str):
            assert value in set(data.features[name])
        else:
            assert data.features[name].min() <= value <= data.features[name].max()


@pytest.fixture(scope="module")
def story():
    data = clinic()
    names = ["age", "sex", "pain", "vessels", "thallium", "heart_rate"]
    rows = np.arange(150)
    small = replace(
        data, features=data.features[rows].select(names), disease=data.disease[rows], prices=data.prices.select(names)
    )
    return tell_story(data=small)


@pytest.mark.slow
def test_the_patient_pays_what_was_measured(story):
    for model, steps in ((story.model, story.steps), (story.dear, story.dear_steps)):
        assert steps[-1].answer.recommendation.feature is None
        assert sum(cost for _, cost in bill(steps)) == pytest.approx(steps[-1].paid)
        paid = [step.answer.recommendation.feature for step in steps[:-1]]
        position = [story.clinic.features.columns.index(name) for name in paid]
        assert story.clinic.prices.cost_of(position) == pytest.approx(steps[-1].paid)
        again = walk(model, PATIENT, KNOWN)
        assert told(again) == told(steps)
        for name, cost in bill(steps):
            assert f"{name} {cost:.2f}" in closing(steps)


@pytest.mark.slow
def test_dearer_errors_never_buy_less_for_this_patient(story):
    assert story.dear_steps[-1].paid >= story.steps[-1].paid


@pytest.mark.slow
def test_every_method_is_judged_on_every_patient(story):
    n = len(story.clinic.disease)
    for method in (MODEL, RULE):
        for budget in BUDGETS:
            judged = story.proof.judged[method, budget]
            np.testing.assert_allclose(judged.proba.sum(axis=1), np.ones(n), atol=1e-6)
            assert judged.paid.max() <= budget + 1e-9
    assert story.proof.judged[RULE, BUDGETS[-1]].known[:, :2].all()  # age and sex are known to the rule, too


@pytest.mark.slow
def test_the_comparison_says_what_was_measured(story):
    rows = comparison_rows(story)
    assert {len(row) for row in rows} == {len(COMPARISON)}
    assert len(rows) == len(story.proof.methods) == 7
    judged = story.proof.judged[MODEL, BUDGETS[-1]]
    assert rows[0][1] == f"{judged.paid.mean():.2f}"
    for row in rows:
        assert float(row[1]) + float(row[2]) == pytest.approx(float(row[3].split()[0]), abs=0.011)
    lines = verdicts(story)
    for line, saved in zip(lines, story.savings().values(), strict=True):
        assert ("cheaper" in line) == (saved.low > 0)
        assert ("dearer" in line) == (saved.high < 0)


@pytest.mark.slow
def test_everything_that_is_promised_is_written(story, tmp_path):
    files = write_story(tmp_path, story, "2026-01-01")
    assert sorted(files) == sorted(str(path) for path in tmp_path.iterdir())
    assert {path.name for path in tmp_path.iterdir()} >= {*FILES, "report.html", "card.html", "heart.synafa"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == story_page(story)
    for link in ("card.html", "card-dear-errors.html", "LICENSE-heart.txt"):
        assert link in page
        assert (tmp_path / link).exists()
    assert "CC BY 4.0" in page
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(values(story)))
    answer = load_model(tmp_path / "heart.synafa").next_feature({name: PATIENT[name] for name in KNOWN})
    assert answer.text == story.steps[0].answer.text
