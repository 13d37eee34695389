"""Arguments that no one meant: one sentence each, at once."""

from __future__ import annotations

import json

import pytest

from synafa.cli.app import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arguments")
    table = folder / "t.csv"
    table.write_text("a,b,c,y\n" + "".join(f"{i % 2},{i % 3},{i % 5},{(i % 2) ^ (i % 3 > 1)}\n" for i in range(300)))
    model = folder / "m.synafa"
    assert run(["fit", str(table), "--target", "y", "-o", str(model)]) == 0
    return folder, table, model


def test_a_graph_of_any_depth_ends_with_the_last_measurement(files, tmp_path):
    _, _, model = files
    assert run(["graph", str(model), "-o", str(tmp_path / "a.json"), "--max-depth", "1000000000"]) == 0
    assert run(["graph", str(model), "-o", str(tmp_path / "b.json"), "--max-depth", "5"]) == 0
    deep, shallow = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert deep["nodes"] == shallow["nodes"]


@pytest.mark.parametrize(
    "cost", ['{"a": ' + "9" * 5000 + "}", '{"a": 1' + "0" * 400 + "}", '{"a": 1e999}', '{"a": true}']
)
def test_costs_beyond_any_number_are_one_short_sentence(files, tmp_path, cost, capsys):
    _, table, _ = files
    (tmp_path / "c.json").write_text(cost)
    assert (
        run(["fit", str(table), "--target", "y", "-o", str(tmp_path / "m"), "--costs", str(tmp_path / "c.json")]) == 2
    )
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert len(err) < 300


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "\0", "\ud800".encode("utf-8", "surrogatepass")])
def test_cost_files_that_are_deep_or_binary_are_one_sentence(files, tmp_path, text, capsys):
    _, table, _ = files
    (tmp_path / "c.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert (
        run(["fit", str(table), "--target", "y", "-o", str(tmp_path / "m"), "--costs", str(tmp_path / "c.json")]) == 2
    )
    err = capsys.readouterr().err
    assert "not readable JSON" in err
    assert err.count("\n") == 1


def test_a_huge_cost_file_is_not_read(files, tmp_path, capsys):
    _, table, _ = files
    with (tmp_path / "c.json").open("wb") as file:
        file.truncate(60_000_000)
    assert (
        run(["fit", str(table), "--target", "y", "-o", str(tmp_path / "m"), "--costs", str(tmp_path / "c.json")]) == 2
    )
    assert "60,000,000 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["scan", "TABLE", "--target", "y", "--seed", "-1"],
        ["scan", "TABLE", "--target", "y", "--seed", str(2**70)],
        ["scan", "TABLE", "--target", "y", "--top", str(10**30)],
        ["scan", "TABLE", "--target", "y", "--top", "-5"],
        ["scan", "TABLE", "--target", "y", "--min-rows", "-5"],
        ["pairs", "TABLE", "--target", "y", "--top", str(10**30)],
        ["evaluate", "--dataset", "synergy-sweep", "--seed", "-1"],
        ["evaluate", "--dataset", "synergy-sweep", "--instance", "-1"],
        ["study", "run", "--quick", "--seed", "-1", "--dry-run"],
        ["fit", "TABLE", "--target", "y", "-o", "OUT", "--bins", str(10**30)],
        ["fit", "TABLE", "--target", "y", "-o", "OUT", "--budget", "1e999"],
        ["fit", "TABLE", "--target", "y", "-o", "OUT", "--cost-weight", "nan"],
        ["fit", "TABLE", "--target", "y\0", "-o", "OUT"],
        ["fit", "no\0where.csv", "--target", "y", "-o", "OUT"],
        ["fit", "TABLE", "--target", "y", "-o", "OUT", "--seed", "-1"],
        ["report", "TABLE", "--target", "y", "-o", "OUT", "--seed", "-1"],
        ["fit", "TABLE", "--target", "y", "-o", "OUT", "--seed", str(2**70)],
        *(
            ["evaluate", "--data", "TABLE", "--target", "y", "--policy", spec]
            for spec in ("no.such:Thing", "../x:Y", "json", "json:nothing", "math:pi", ".x:Y")
        ),
        ["serve", "MODEL", "--port", "0", "--log", "FOLDER"],
        ["serve", "MODEL", "--host", ""],
        ["serve", "MODEL", "--host", "a\0b", "--port", "0"],
        ["next", "MODEL", "--remaining", "nan"],
        ["next", "MODEL", "--observed", "a=" + "9" * 400],
    ],
)
def test_the_sentence(files, tmp_path, words, capsys):
    _, table, model = files
    places = {"FOLDER": str(tmp_path), "TABLE": str(table), "MODEL": str(model), "OUT": str(tmp_path / "m")}
    assert run([places.get(word, word) for word in words]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "Unexpected" not in err
    assert not (tmp_path / "m").exists()
