"""The command line: what a person types, what comes back, and one sentence when it cannot be done."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from synafa import SynAFA
from synafa.cli.app import COMMANDS, load_command, run, sentence, spread_words
from synafa.cli.common import parse_values, split_names
from synafa.errors import SynafaError
from synafa.model.storage import load_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of patients in which lab1 and lab2 count only together, and a model fitted by the command line."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (800, 3))
    noise = rng.random(800) < 0.05
    sex = rng.choice(["f", "m"], 800)
    died = np.where((bits[:, 0] ^ bits[:, 1] ^ noise) == 1, "yes", "no")
    table = pl.DataFrame(
        {"id": range(800), "lab1": bits[:, 0] * 3.5, "lab 2": bits[:, 1], "age": rng.normal(60, 9, 800), "sex": sex}
    ).with_columns(died=pl.Series(died), age=pl.when(pl.col("id") % 17 == 0).then(None).otherwise(pl.col("age")))
    table.write_csv(folder / "patients.csv")
    table.write_parquet(folder / "patients.parquet")
    command = ["fit", str(folder / "patients.csv"), "--target", "died", "--drop", "id", "--known", "sex"]
    command += ["--policy", "synafa", "--cost-weight", "0.01"]
    assert run([*command, "--budget", "4", "--costs", "lab1=2", "-o", str(folder / "m.synafa")]) == 0
    return folder


@pytest.fixture
def call(capsys):
    """Run a command line; its exit code, standard output and standard error."""

    def call(*words):
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def refused(result, *words):
    """Exit 2, nothing on standard output, one sentence on standard error (below notes on the table), no traceback."""
    code, out, err = result
    assert code == 2, (out, err)
    assert out == ""
    said = [line for line in err.splitlines() if not line.startswith("Note: ")]
    assert len(said) == 1, err
    assert "Traceback" not in err
    assert "Unexpected" not in err
    for word in words:
        assert word in err, err


def test_fit_says_what_it_learnt_and_where_the_model_is(folder, call, tmp_path):
    code, out, _ = call(
        "fit", folder / "patients.parquet", "-t", "died", "--drop", "id", "-o", tmp_path / "m", "--json",
        "--policy", "synafa",
    )  # fmt: skip
    value = json.loads(out)
    assert code == 0
    assert value["rows"] == 800
    assert value["classes"] == ["no", "yes"]
    assert load_model(tmp_path / "m").policy_.rule_.feature_names == ("lab1", "lab 2", "age", "sex")


def test_options_of_fit_reach_the_model(folder):
    rule = load_model(folder / "m.synafa").policy_.rule_
    assert rule.costs.tolist() == [2, 1, 1, 0], "what is known at the start costs nothing"
    assert rule.known.tolist() == [False, False, False, True]
    assert rule.budget == 4
    assert rule.target == "died"


def test_next_recommends_the_pair_and_then_its_partner(folder, call):
    _, out, _ = call("next", folder / "m.synafa", "--json")
    first = json.loads(out)
    assert first["branch"] == "pair"
    assert {first["feature"], first["partner"]} == {"lab1", "lab 2"}
    _, out, _ = call("next", folder / "m.synafa", "--observed", f"{first['feature']}=1", "sex=m", "--json")
    second = json.loads(out)
    assert second["feature"] == first["partner"]
    assert second["given"] == first["feature"]
    assert second["remaining"] == 4 - first["cost"]


def test_next_says_why_in_words_and_respects_what_cannot_be_had(folder, call):
    _, out, _ = call("next", folder / "m.synafa", "--unavailable", "lab1,lab 2")
    assert "\nStop" in out or "\nMeasure age" in out or "\nTell sex (known from the start)" in out
    _, out, _ = call("next", folder / "m.synafa", "--remaining", "0")
    assert "\nTell sex" in out, "it is free"
    _, out, _ = call("next", folder / "m.synafa", "--remaining", "0", "--observed", "sex=m")
    assert "\nStop" in out
    assert "Enough" not in out
    _, out, _ = call("next", folder / "m.synafa")
    assert "died" in out
    assert "bits" in out


def test_a_conversation_ends_when_the_budget_is_spent(folder, call, monkeypatch):
    answers = iter(["abc", "", "other", "0", "back", "3.5", "1", "no", "55"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    code, out, err = call("next", folder / "m.synafa", "--interactive")
    assert (code, err) == (0, "")
    assert "'abc' is not a number" in out
    assert "Stop" in out
    assert "Measured: " in out
    assert "--observed" in out


def test_a_conversation_survives_the_end_of_input(folder, call, monkeypatch):
    def end(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    code, out, _ = call("next", folder / "m.synafa", "-i")
    assert code == 0
    assert "Measured: nothing" in out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_acquire_writes_what_the_model_would_have_measured(folder, call, tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    code, out, err = call("acquire", folder / "m.synafa", folder / "patients.csv", "-o", path)
    assert (code, err) == (0, "")
    assert "800 rows" in out
    run = load_model(folder / "m.synafa").acquire(
        pl.read_csv(folder / "patients.csv").select("lab1", "lab 2", "age", "sex")
    )
    if suffix == "json":
        rows = json.loads(path.read_text())["rows"]
        assert [row["cost"] for row in rows] == run.cost.tolist()
        return
    table = pl.read_csv(path) if suffix == "csv" else pl.read_parquet(path)
    assert table.height == (run.order >= 0).sum()
    assert table.group_by("row").agg(pl.col("cost").sum())["cost"].sum() == pytest.approx(run.cost.sum())
    assert set(table["branch"]) <= set(run.branch_names)


@pytest.mark.parametrize("suffix", ["html", "svg", "dot", "json"])
def test_graph_writes_the_format_of_its_suffix(folder, call, tmp_path, suffix):
    path = tmp_path / f"g.{suffix}"
    code, out, _ = call("graph", folder / "m.synafa", "-o", path, "--json")
    assert code == 0
    assert json.loads(out)["nodes"] > 2
    start = {"html": "<!DOCTYPE html>", "svg": "<svg", "dot": "digraph", "json": "{"}[suffix]
    assert path.read_text(encoding="utf-8").startswith(start)
    assert "lab1" in path.read_text(encoding="utf-8")


def test_the_command_and_the_method_draw_the_same_graph(folder, call, tmp_path):
    options = {parameter.name: parameter for parameter in load_command("graph").params}
    method = inspect.signature(SynAFA.decision_graph).parameters
    for name in ("max_depth", "min_share"):
        assert options[name].default == method[name].default
    call("graph", folder / "m.synafa", "-o", tmp_path / "g.json")
    assert (tmp_path / "g.json").read_text() == load_model(folder / "m.synafa").decision_graph().to_json()


def test_pairs_puts_the_planted_pair_first(folder, call):
    code, out, _ = call("pairs", folder / "patients.csv", "-t", "died", "--drop", "id", "--top", "2", "--json")
    first = json.loads(out)["synergistic"][0]
    assert code == 0
    assert (first["first"], first["second"]) == ("lab1", "lab 2")
    assert first["synergy"] > 0.5
    code, out, _ = call("pairs", folder / "patients.csv", "-t", "died", "--drop", "id")
    assert "Strongest redundant pairs" in out


def test_every_bad_word_is_one_sentence(folder, call, tmp_path):
    data, model, out = folder / "patients.csv", folder / "m.synafa", tmp_path / "out"
    fit = ("fit", data, "-t", "died", "-o", out, "--drop", "id")
    refused(call("fit", data, "-o", out), "--target")
    refused(call("fit", tmp_path / "none.csv", "-t", "y", "-o", out), "no file")
    refused(call("fit", data, "-t", "dead", "-o", out), "'dead'")
    refused(call(*fit, "--budget", "-1"), "budget")
    refused(call(*fit, "--budget", "nan"), "budget")
    refused(call(*fit, "--budget", "much"), "--budget")
    refused(call(*fit, "--bins", "99", "--policy", "synafa"), "99")
    refused(call(*fit, "--policy", "guess"), "guess", "plan-tree")
    refused(call(*fit, "--group", "ward"), "ward")
    refused(call(*fit, "--errors", "yes:no"), "yes:no")
    refused(call(*fit, "--errors", "yes:perhaps=5"), "perhaps")
    refused(call(*fit, "--prices", tmp_path / "none.csv"), "none.csv")
    refused(call(*fit, "--costs", "lab1=2", "--prices", data), "either --prices or --costs")
    refused(call(*fit, "--costs", "lab1=-2"), "lab1")
    refused(call(*fit, "--costs", "lab3=2"), "lab3")
    refused(call(*fit, "--costs", "lab1=inf", "age=1"), "lab1")
    refused(call(*fit, "--known", "weight"), "weight")
    refused(call(*fit, "--affordability", "loose", "--policy", "synafa"), "loose")
    refused(call(*fit, "--drop", "died"), "died")
    refused(call("next", tmp_path / "none"), "There is no file")
    refused(call("next", data), "not a synafa file")
    refused(call("next", tmp_path), "folder")
    refused(call("next", model, "--observed", "lab1"), "name=value")
    refused(call("next", model, "--observed", "lab7=1"), "lab7")
    refused(call("next", model, "--observed", "age=old"), "'old'")
    refused(call("next", model, "--observed", "sex=x"), "'x'")
    refused(call("next", model, "--observed", "age=1", "age=2"), "twice")
    refused(call("next", model, "--remaining", "-3"), "remaining")
    refused(call("next", model, "-i", "--json"), "--json")
    refused(call("acquire", model, data, "-o", tmp_path / "run.xlsx"), ".xlsx", ".csv")
    refused(call("acquire", model, data, "-o", tmp_path / "run.csv", "--on-stop", "cry"), "cry")
    refused(call("graph", model, "-o", tmp_path / "g.png"), ".png")
    refused(call("graph", model, "-o", tmp_path / "g.svg", "--min-share", "2"), "min_share")
    refused(call("graph", model, "-o", tmp_path / "g.svg", "--min-share", "1"), "min_share")
    refused(call("graph", model, "-o", tmp_path / "g.svg", "--max-depth", "0"), "max_depth")
    refused(call("pairs", data, "-t", "died", "--top", "0"), "top")
    refused(call("no-such-command"), "no-such-command")
    refused(call("fit", "--frobnicate"), "frobnicate")
    assert not list(tmp_path.iterdir())


def test_tables_that_cannot_be_learnt_from_are_one_sentence(call, tmp_path):
    out = tmp_path / "m"
    cases = {
        "": "empty",
        "a,y\n": "no rows",
        "y\n0\n1\n": "beside the target",
        "a,y\n1,0\n2,\n": "missing",
        "a,a,y\n1,2,0\n": "'a'",
        "a,y\n1,0\n2,0\n": "class",
        "a,y\n1,0\ninf,1\n": "infinity",
    }
    for text, word in cases.items():
        (tmp_path / "t.csv").write_text(text)
        refused(call("fit", tmp_path / "t.csv", "-t", "y", "-o", out), word)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


CELLS = st.sampled_from(
    ["", "0", "1", "2.5", "-3", "x", "y ", "NA", "inf", "1e400", '"', '"a,b"', "ä", "\x00", "true", "9" * 30]
)
LINES = st.lists(st.lists(CELLS, min_size=1, max_size=4).map(",".join), max_size=8).map("\n".join)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.sampled_from(["a,y", "a,b,y", "y,a", "y;a", "a,,y", '"a,y', "a,b,c,y"]),
    lines=LINES,
    policy=st.sampled_from(["plan-tree", "synafa"]),
)
@example(header="a,b,y", lines="0,,,", policy="plan-tree")  # a note, then the sentence
def test_any_text_in_a_table_gives_a_model_or_one_sentence(call, tmp_path, header, lines, policy):
    (tmp_path / "t.csv").write_text(f"{header}\n{lines}", encoding="utf-8")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m", "--json", "--policy", policy)
    result = call(*fit)
    if result[0]:
        refused(result)
        assert not (tmp_path / "m").exists()
        return
    assert call("acquire", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "run.csv")[0] == 0
    assert call("graph", tmp_path / "m", "-o", tmp_path / "g.svg")[0] == 0
    (tmp_path / "m").unlink()


def test_rows_that_do_not_fit_the_model_are_one_sentence_and_leave_no_file(folder, call, tmp_path):
    table = pl.read_csv(folder / "patients.csv")
    for name, rows, word in [
        ("narrow", table.drop("lab1"), "'lab1'"),
        ("text", table.with_columns(age=pl.lit("old")), "'old'"),
        ("none", table.clear(), "no rows"),
    ]:
        rows.write_csv(tmp_path / f"{name}.csv")
        refused(call("acquire", folder / "m.synafa", tmp_path / f"{name}.csv", "-o", tmp_path / "run.csv"), word)
    assert not (tmp_path / "run.csv").exists()


def test_outputs_that_cannot_be_written_are_one_sentence(folder, call, tmp_path):
    (tmp_path / "taken.csv").mkdir()
    (tmp_path / "plain").write_text("")
    data, model = folder / "patients.csv", folder / "m.synafa"
    refused(call("acquire", model, data, "-o", tmp_path / "taken.csv"), "folder")
    refused(call("fit", data, "-t", "died", "-o", tmp_path / "plain" / "m"), "plain")
    refused(call("graph", model, "-o", tmp_path / "plain" / "g.svg"), "plain")
    refused(call("demo", "-o", tmp_path / "plain"), "plain")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "taken.csv"]


def commands(command, words):
    """A command and, for a group, its subcommands, as the words that call them."""
    inner = getattr(command, "commands", {})
    return [words, *(line for name, sub in inner.items() for line in commands(sub, [*words, name]))]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself_with_an_example(call, name):
    for words in commands(load_command(name), [name]):
        code, out, _ = call(*words, "--help")
        assert code == 0
        assert f"synafa {' '.join(words)}" in " ".join(out.split("Example")[1].split())


def test_the_overview_lists_every_command(call):
    _, out, _ = call("--help")
    assert all(name in out for name in COMMANDS)
    assert call("--version")[1].startswith("synafa ")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_can_be_loaded(name):
    assert load_command(name).name == name


def test_several_words_follow_one_option():
    words = ["next", "m", "--observed", "a=1", "b=2", "--costs", "c.csv", "x", "--json"]
    spread = ["next", "m", "--observed", "a=1", "--observed", "b=2", "--costs", "c.csv", "x", "--json"]
    assert spread_words(words) == spread


def test_names_may_hold_commas_and_equal_signs():
    assert parse_values(["a=b=1", "a=2"], ["a", "a=b"]) == {"a=b": "1", "a": "2"}
    assert split_names(["x, y", "z,w"], ["x, y", "z", "w"]) == ["x, y", "z", "w"]


def test_unforeseen_errors_are_sentences_too():
    assert sentence(SynafaError("So."))[1] == 2
    assert sentence(PermissionError(13, "Permission denied", "f"))[0] == "Cannot use the file 'f': Permission denied."
    assert sentence(MemoryError())[1] == 2
    assert sentence(pl.exceptions.ComputeError("bad"))[1] == 2
    assert sentence(RuntimeError("odd"))[1] == 1


@pytest.mark.parametrize("policy", ["synafa", pytest.param("plan-tree", marks=pytest.mark.slow)])
def test_next_answers_cold_without_the_heavy_packages(folder, call, tmp_path, policy):
    path = folder / "m.synafa"
    if policy == "plan-tree":
        path = tmp_path / "m.synafa"
        call("fit", folder / "patients.csv", "-t", "died", "--drop", "id,age", "--known", "sex", "-o", path)
    code = (
        "import sys; from synafa.cli.app import run; code = run(sys.argv[1:]); "
        "heavy = {'numba', 'sklearn', 'scipy', 'torch', 'polars', 'pandas', 'matplotlib'} & set(sys.modules); "
        "sys.exit(code or (f'imported {heavy}' if heavy else 0))"
    )
    words = [sys.executable, "-c", code, "next", str(path), "--observed", "sex=f"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stderr
    assert "Measure" in done.stdout
