"""Globs and memory limits at the command line: the same models, pairs and runs as of one file in memory."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from synafa import SynAFA
from synafa.cli.app import run
from synafa.table.reading import read_table, split_target

pytestmark = pytest.mark.slow


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(5)
    n = 600
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n).round(2),
            "b": rng.integers(0, 6, n),
            "c": rng.choice(["u", "v"], n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    (tmp_path / "parts").mkdir()
    for i in range(3):
        table[200 * i : 200 * i + 200].write_parquet(tmp_path / "parts" / f"p{i}.parquet")
    table.write_parquet(tmp_path / "whole.parquet")
    return tmp_path


def test_fit_of_a_pattern_a_folder_or_beyond_memory_writes_the_same_file(tables):
    whole, parts = tables / "whole.parquet", tables / "parts"
    features, labels = split_target(read_table(whole), "y")
    SynAFA(budget=2).fit(features, labels, target="y").save(tables / "in_memory.synafa")
    models = [(tables / "in_memory.synafa").read_bytes()]
    for i, more in enumerate(([parts], [parts / "*.parquet"], [whole, "--memory", "1kB"])):
        model = tables / f"m{i}.synafa"
        assert run(["fit", *map(str, more), "--target", "y", "--budget", "2", "-o", str(model)]) == 0
        models.append(model.read_bytes())
    assert len(set(models)) == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_acquire_writes_the_same_answers_as_it_reads(tables, suffix, capsys, monkeypatch):
    model = tables / "model.synafa"
    assert run(["fit", str(tables / "whole.parquet"), "--target", "y", "--budget", "2", "-o", str(model)]) == 0
    one, other = tables / f"one{suffix}", tables / f"other{suffix}"
    capsys.readouterr()
    assert run(["acquire", str(model), str(tables / "whole.parquet"), "-o", str(one), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run(["acquire", str(model), str(tables / "parts" / "*.parquet"), "-o", str(other), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert {**first, "run": 0, "mean_cost": 0} == {**second, "run": 0, "mean_cost": 0}
    assert first["mean_cost"] == pytest.approx(second["mean_cost"])
    if suffix == ".json":
        assert json.loads(one.read_text()) == json.loads(other.read_text())
    else:
        read = pl.read_csv if suffix == ".csv" else pl.read_parquet
        assert read(one).equals(read(other))


def test_an_answer_that_cannot_be_given_leaves_no_file(tables, capsys):
    model = tables / "model.synafa"
    assert run(["fit", str(tables / "whole.parquet"), "--target", "y", "-o", str(model)]) == 0
    last = tables / "parts" / "p2.parquet"
    pl.read_parquet(last).with_columns(pl.lit(float("inf")).alias("a")).write_parquet(last)
    for suffix in (".csv", ".parquet", ".json"):
        output = tables / f"run{suffix}"
        assert run(["acquire", str(model), str(tables / "parts"), "-o", str(output)]) == 2
        assert "infinit" in capsys.readouterr().err
        assert not output.exists()
    assert not [path for path in tables.iterdir() if path.name.endswith(".tmp")]


def test_pairs_of_a_stream_are_those_of_the_file(tables, capsys):
    said = []
    for data in ("whole.parquet", "parts"):
        assert run(["pairs", str(tables / data), "--target", "y", "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]


def test_a_scan_of_files_in_memory_or_streamed_is_that_of_the_whole_file(tables, capsys):
    said = []
    for data, more in [("whole.parquet", []), ("parts", []), ("parts/p*.parquet", ["--memory", "1kB"])]:
        output = tables / "pairs.parquet"
        arguments = ["scan", str(tables / data), "--target", "y", "--min-rows", "5", "-o", str(output), "--json", *more]
        assert run(arguments) == 0
        said.append(json.loads(capsys.readouterr().out))
        assert pl.read_parquet(output).to_dicts() == said[-1]["pairs"]
    assert said[0] == said[1] == said[2]
    assert len(said[0]["pairs"]) == 3


def test_a_streamed_scan_refuses_empty_cells_and_halves(tables, capsys):
    path = tables / "parts" / "p1.parquet"
    assert run(["scan", str(tables / "parts"), "--target", "y", "--memory", "1kB", "--halves"]) == 2
    assert "--halves needs the rows in memory" in capsys.readouterr().err
    pl.read_parquet(path).with_columns(b=pl.when(pl.col("b") > 2).then(pl.col("b"))).write_parquet(path)
    output = tables / "pairs.parquet"
    assert run(["scan", str(tables / "parts"), "--target", "y", "--memory", "1kB", "-o", str(output)]) == 2
    assert "The column 'b' has empty cells" in capsys.readouterr().err
    assert not output.exists()
    assert run(["scan", str(tables / "parts"), "--target", "y", "--min-rows", "5", "-o", str(output)]) == 0
    assert output.exists()


def test_a_scan_is_written_as_a_whole_or_not_at_all(tables, capsys):
    output = tables / "pairs.csv"
    assert run(["scan", str(tables / "parts"), "--target", "y", "-o", str(output)]) == 2
    assert "let it end in .parquet" in capsys.readouterr().err
    files = sorted(tables.iterdir())
    good = tables / "parts" / "p2.parquet"
    pl.read_parquet(good).with_columns(a=pl.lit(float("inf"))).write_parquet(good)
    for more in ([], ["--memory", "1kB"]):
        words = ["scan", str(tables / "parts"), "--target", "y", "-o", str(tables / "pairs.parquet"), *more]
        assert run(words) == 2
        assert "infinit" in capsys.readouterr().err
        assert sorted(tables.iterdir()) == files


def test_a_size_that_is_none_is_refused(tables, capsys):
    assert run(["pairs", str(tables / "parts"), "--target", "y", "--memory", "lots"]) == 2
    assert "--memory must be a size such as 4GB" in capsys.readouterr().err


def test_names_and_notes_do_not_get_into_a_streamed_model(tmp_path, capsys):
    table, model = tmp_path / "t.csv", tmp_path / "m.synafa"
    rows = [f"patient {i},{i % 7},{'ill' if i % 7 > 3 else 'well'}" for i in range(300)]
    table.write_text("name,lab,state\n" + "\n".join(rows) + "\n")
    words = ["fit", str(table), "--target", "state", "--memory", "1kB", "-o", str(model)]
    assert run(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "'name' has 300 different values" in said
    assert "--drop" in said
    assert not model.exists()
    assert run([*words, "--drop", "name"]) == 0
    assert b"patient" not in model.read_bytes()
