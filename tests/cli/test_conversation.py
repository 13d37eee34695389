"""`synafa next --interactive`: an answer is what the person meant, and a feature's own categories come first."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl
import pytest

from synafa import SynAFA
from synafa.cli.app import run
from synafa.cli.recommend import COMMANDS

WORDS = sorted(word for words in COMMANDS.values() for word in words)


@pytest.fixture
def talk(tmp_path, monkeypatch, capsys):
    """Fit a model in which `answer`, with the given categories, tells the class, and give answers to its questions."""

    def talk(categories, answers, *options):
        rng = np.random.default_rng(0)
        y = rng.integers(0, len(categories), 300)
        table = pl.DataFrame({"answer": np.array(categories)[y], "lab": (y % 2) * 1.0 + rng.normal(0, 0.2, 300)})
        SynAFA(budget=2, costs={"lab": 2}, n_bins=max(2, len(categories))).fit(table, y % 2).save(tmp_path / "m")
        prompts, coming = [], iter(answers)

        def reply(prompt):
            prompts.append(prompt)
            try:
                return next(coming)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", reply)
        code = run(["next", str(tmp_path / "m"), "--interactive", *options])
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return captured.out, prompts

    return talk


def test_no_to_a_question_of_yes_and_no_is_an_answer(talk):
    out, _ = talk(["no", "yes"], ["no"])
    assert "Measured: answer=no." in out
    assert "Could not be measured" not in out


@pytest.mark.parametrize("word", WORDS)
def test_a_category_that_is_called_like_a_command_can_be_entered(talk, word):
    out, _ = talk([word, "yes"], [word])
    assert f"Measured: answer={word}." in out


def test_a_category_is_recognised_whatever_its_capitals(talk):
    out, _ = talk(["No", "Yes"], ["no"])
    assert "Measured: answer=No." in out
    out, _ = talk(["NO", "No", "yes"], ["no", "No"])
    assert "'no' is not a value of 'answer' seen in training; the values are: NO, No, yes." in out
    assert "Measured: answer=No." in out


def test_a_word_with_two_meanings_is_explained_before_the_answer_and_the_command_stays_possible(talk):
    out, prompts = talk(["no", "yes"], ["/no"])
    explained = out.index("'no' is a value of answer")
    assert "'/no'" in out[explained:]
    assert prompts[0] == "answer (no, yes) = "
    assert "Could not be measured: answer." in out
    assert "Measured: nothing." in out
    out, _ = talk(["stop", "go"], ["/stop"])
    assert "Measured: nothing." in out
    assert "Could not" not in out
    out, _ = talk(["high", "low"], [])
    assert "is a value of" not in out


def test_a_slash_is_only_needed_for_a_word_with_two_meanings(talk):
    out, _ = talk(["high", "low"], ["/no"])
    assert "Could not be measured: answer." in out
    out, _ = talk(["high", "low"], ["cannot"])
    assert "Could not be measured: answer." in out
    out, _ = talk(["/no", "no"], ["/no"])
    assert "Measured: answer=/no." in out


def test_what_is_printed_to_come_back_leads_back(talk):
    out, _ = talk(["it's", "no"], ["it's", "/stop"], "--remaining", "5")
    line = next(line for line in out.splitlines() if line.startswith("To come back here: "))
    words = shlex.split(line.removeprefix("To come back here: "))
    assert words == ["--observed", "answer=it's", "--remaining", "4"]
    again, _ = talk(["it's", "no"], [], *words)
    assert "Measured: answer=it's." in again
    out, _ = talk(["high", "low"], ["no", "no"])
    assert "To come back here: --unavailable answer --unavailable lab" in out
    again, _ = talk(["high", "low"], [], "--unavailable", "answer", "--unavailable", "lab")
    assert "Could not be measured: answer, lab." in again
