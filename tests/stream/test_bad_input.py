"""Files that cannot be used as one table: one sentence that names the file, and nothing half-written."""

from __future__ import annotations

import gzip
import threading

import numpy as np
import polars as pl
import pytest

from synafa import SynAFA, SynafaError
from synafa.cli.app import run
from synafa.stream.passes import stream_counts
from synafa.stream.sources import ahead, open_source

pytestmark = pytest.mark.slow


def cut(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def change(path, **columns):
    """Replace or add columns of a CSV or Parquet file; None takes a column away."""
    parquet = path.suffix == ".parquet"
    table = pl.read_parquet(path) if parquet else pl.read_csv(path, infer_schema_length=None)
    table = table.drop(name for name, column in columns.items() if column is None)
    table = table.with_columns(**{name: column for name, column in columns.items() if column is not None})
    table.write_parquet(path) if parquet else table.write_csv(path)


def sentence(source, target="y"):
    """What is said about a table that cannot be counted: one sentence."""
    with pytest.raises(SynafaError) as error:
        stream_counts(source, target)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")
    return str(error.value)


HARM = {
    "absent": (lambda path: change(path, y=None), "lacks the column 'y', which {first} has"),
    "other name": (lambda path: change(path, c=None, cc=pl.lit("x")), "lacks the column 'c', which {first} has"),
    "more columns": (lambda path: change(path, z=pl.lit(1)), "has the column 'z', which {first} lacks"),
    "no label": (lambda path: change(path, y=pl.lit(None, pl.String)), "'y' is missing in row 1 of {name}"),
    "one gap": (
        lambda path: change(path, y=pl.when(pl.int_range(pl.len()) != 6).then(pl.col("y"))),
        "'y' is missing in row 7 of {name}",
    ),
    "empty": (lambda path: path.write_bytes(b""), "{name} is empty"),
}
HARM_OF_PARQUET = {
    "label without a type": (lambda path: change(path, y=pl.lit(None)), "'y' is missing in row 1 of {name}"),
    "label of numbers": (lambda path: change(path, y=pl.lit(1)), "'y' holds Int32 in {name} and String in {first}"),
    "text for numbers": (lambda path: change(path, a=pl.lit("1")), "'a' holds String in {name} and Float64 in {first}"),
    "dates": (lambda path: change(path, a=pl.date(2020, 1, 1)), "'a' holds Date in {name} and Float64 in {first}"),
    "lists": (
        lambda path: change(path, a=pl.concat_list("a")),
        "'a' holds List(Float64) in {name} and Float64 in {first}",
    ),
    "bytes": (lambda path: change(path, c=pl.lit(b"\xff\xfe")), "{name} cannot be read"),
    "infinity": (
        lambda path: change(path, a=pl.when(pl.int_range(pl.len()) == 9).then(float("inf")).otherwise(pl.col("a"))),
        "'a' holds infinity in row 10 of {name}",
    ),
    **{
        f"cut at {share}": (lambda path, share=share: cut(path, share), "{name} is cut short or is not a readable")
        for share in (0.02, 0.6, 0.995)
    },
}


@pytest.mark.parametrize(
    ("suffix", "harm", "words"),
    [("parquet", *case) for case in [*HARM.values(), *HARM_OF_PARQUET.values()]]
    + [("csv", *case) for case in HARM.values()],
    ids=[*HARM, *HARM_OF_PARQUET, *(f"{name} (CSV)" for name in HARM)],
)
def test_what_is_wrong_is_said_with_the_files_name(folder, suffix, harm, words):
    path = folder / f"part1.{suffix}"
    harm(path)
    first = repr(str(folder / f"part0.{suffix}"))
    assert words.format(name=repr(str(path)), first=first) in sentence(str(folder / f"part*.{suffix}"))


def test_a_label_that_the_first_file_lacks_is_said_too(folder):
    change(folder / "part0.parquet", y=None)
    assert "part1.parquet' has the column 'y', which" in sentence(str(folder / "part*.parquet"))
    change(folder / "part1.parquet", y=None)
    change(folder / "part2.parquet", y=None)
    assert "There is no column 'y' for the target" in sentence(str(folder / "part*.parquet"))


def test_a_damaged_file_is_named(folder):
    path = folder / "part1.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(data)
    assert f"{str(path)!r} cannot be read" in sentence(str(folder / "part*.parquet"))


def test_a_csv_file_that_is_cut_short_or_differs_is_named(folder):
    path = folder / "part1.csv"
    text = path.read_text()
    lines = text.splitlines()
    for end, cells in (("0.1,2", "2 cells"), ("0.1", "1 cell")):
        path.write_text("\n".join([*lines[:200], end]))
        assert f"part1.csv' is cut short: its last line has {cells}, the header has 5." in sentence(
            str(folder / "part*.csv")
        )
    path.write_text("\n".join([*lines[:100], "0.1,2,x", *lines[100:200]]) + "\n")
    assert "part1.csv' has 3 cells, the header has 5" in sentence(str(folder / "part*.csv"))
    path.write_text("\n".join([*lines[:200], '0.1,2,"x']))
    assert "part1.csv'" in sentence(str(folder / "part*.csv"))
    path.write_text(lines[0][:5])
    assert "part1.csv'" in sentence(str(folder / "part*.csv"))
    assert "No file matches" in sentence(str(folder / "*.tsv"))
    assert "different kinds" in sentence([folder / "part0.csv", folder / "part0.parquet"])


def test_a_compressed_file_that_is_cut_short_is_named(folder):
    for path in list(folder.glob("part*.csv")):
        path.with_suffix(".csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path = folder / "part1.csv.gz"
    whole = path.read_bytes()
    for harmed in (whole[:20], whole[: len(whole) // 2], whole[:-4], b"a,b,c,late,y\n1,2,x,7,no\n"):
        path.write_bytes(harmed)
        assert "part1.csv.gz' is cut off or damaged" in sentence(str(folder / "part*.csv.gz"))
    text = gzip.decompress(whole)
    path.write_bytes(gzip.compress(text[: text.rindex(b",", 0, 4000)]))  # the text was cut before it was compressed
    assert "part1.csv.gz' is cut short: its last line has" in sentence(str(folder / "part*.csv.gz"))


def test_a_last_cell_that_may_be_cut_is_told(folder):
    path = folder / "part1.csv"
    path.write_bytes(path.read_bytes()[:-2])  # "no" or "yes" without its last letter
    with pytest.warns(UserWarning, match=r"part1.csv' does not end with a line break, and .*part0.csv' does"):
        stream_counts(str(folder / "part*.csv"), "y")
    said = []
    for path in folder.glob("part*.csv"):
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
    open_source(str(folder / "part*.csv"), as_text=("y",), tell=said.append)
    assert not said, "files that all end so were written so"


def test_a_csv_column_of_numbers_in_one_file_and_text_in_another_is_told(folder):
    change(folder / "part1.csv", a=pl.lit("k"), y=pl.lit(1))
    said = []
    schema = open_source(str(folder / "part*.csv"), as_text=("y",), tell=said.append).schema
    assert [notice.column for notice in said] == ["a", "y"]
    assert "holds numbers in" in said[0].text
    assert "part1.csv', first 'k' in row 1; all of it is read as text" in said[0].text
    assert schema["a"] == schema["y"] == pl.String


@pytest.mark.parametrize("which", [0, 1])
def test_a_column_without_any_value_in_one_file_fits_to_the_others(folder, which):
    """pandas writes such a column without a type."""
    whole = [pl.read_parquet(path) for path in sorted(folder.glob("part*.parquet"))]
    names = whole[0].columns
    change(folder / f"part{which}.parquet", a=pl.lit(None), c=pl.lit(None))
    gone = {"a": pl.lit(None, pl.Float64), "c": pl.lit(None, pl.String)}
    whole[which] = whole[which].with_columns(**gone)
    table = pl.concat([part.select(names) for part in whole])
    found = stream_counts(str(folder / "part*.parquet"), "y")
    policy = SynAFA().fit(table.drop("y"), table["y"].to_numpy())
    assert found.encoder.columns_ == policy.rule_.encoder.columns_
    assert found.edges.tobytes() == policy.rule_.edges.tobytes()
    assert dict(zip(found.encoder.feature_names_, found.missing))["c"] == 300


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_types_of_one_family_make_one_column(order):
    """Whole numbers, truth values and floats; text and categories; the labels do not depend on the order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pl.DataFrame({"x": y.astype(np.float64), "t": rng.choice(["u", "v"], 300), "b": rng.random(300), "y": y})
    frames = [
        table[:100].with_columns(pl.col("y").cast(pl.Boolean), pl.col("t").cast(pl.Categorical), x=pl.col("x") > 0),
        table[100:200].with_columns(pl.col("y").cast(pl.UInt64), pl.col("t").cast(pl.Binary)),
        table[200:].with_columns(pl.col("x").cast(pl.Int8), pl.col("t").cast(pl.Enum(["v", "u"]))),
    ]
    found = stream_counts([frames[i] for i in order], "y")
    expected = stream_counts(table, "y")
    assert found.counts.to_bytes() == expected.counts.to_bytes()
    assert found.encoder.columns_ == expected.encoder.columns_
    frames[1] = frames[1].with_columns(t=pl.lit(3))
    assert "'t' holds" in sentence(frames)
    assert sentence([frames[0], frames[1].drop("b")]).startswith("frame 2 lacks the column 'b', which frame 1 has")


@pytest.mark.parametrize(
    ("suffix", "harm"),
    [("parquet", *HARM["one gap"][:1]), ("csv", *HARM["one gap"][:1]), ("parquet", lambda p: cut(p, 0.6))],
)
def test_the_command_line_says_it_and_writes_nothing(folder, capsys, suffix, harm):
    harm(folder / f"part2.{suffix}")
    output = folder / "out"
    output.mkdir()
    pattern = str(folder / f"part*.{suffix}")
    words = ["fit", pattern, "-t", "y", "--policy", "synafa", "--memory", "1kB", "-o", str(output / "m.synafa")]
    assert run(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("synafa: ")
    assert f"part2.{suffix}'" in said
    assert "Traceback" not in said
    assert not list(output.iterdir())


def test_an_identifier_is_not_a_text_column(monkeypatch):
    monkeypatch.setattr("synafa.stream.columns.MOST_CATEGORIES", 100)
    table = pl.DataFrame({"id": [str(i) for i in range(500)], "y": [0, 1] * 250})
    assert "'id' has more than 100 different texts" in sentence(table)
    with pytest.raises(SynafaError, match="no column beside"):
        stream_counts(table, "y", drop=("id",))
    assert "fractions" in sentence(table.with_columns(pl.col("y") + 0.5, a=1).drop("id"))


def test_a_table_too_wide_for_its_counts_is_refused_before_it_is_read(monkeypatch):
    wide = pl.DataFrame({**{f"x{j}": [0, 1] for j in range(5000)}, "y": [0, 1]})
    monkeypatch.setattr("synafa.information.counts.available_bytes", lambda: 2**29)
    monkeypatch.setattr("synafa.stream.sources.Source.sample", None)  # nothing is read
    said = sentence(wide.lazy())
    assert said.startswith("Counting the pairs of 5,000 features in 2 bins and 2 classes takes 1,000,000,000 bytes")
    assert "512.0 MiB are free" in said
    with pytest.raises(SynafaError, match="5,000 features"):
        SynAFA().fit_stream(wide, "y")


def test_one_name_may_be_dropped():
    table = pl.DataFrame({"name": ["p", "q"] * 50, "x": [0, 1] * 50, "z": [1, 2, 3, 4] * 25, "y": [0, 1] * 50})
    assert list(SynAFA().fit_stream(table, "y", drop="name").feature_names_in_) == ["x", "z"]


def test_columns_whose_quantiles_are_alike_are_counted_without_a_warning(recwarn):
    table = pl.DataFrame({"mostly zero": [0.0] * 50 + list(range(1, 11)), "x": np.arange(60.0), "y": [0, 1] * 30})
    found = stream_counts(table, "y", n_bins=5)
    assert found.edges[0].tolist() == [0.0, np.inf, np.inf, np.inf]
    assert not recwarn.list


def test_batches_may_be_thrown_away_by_the_thread_that_reads_them():
    """The garbage collector runs in whatever thread it likes."""
    received, closed, problems = threading.Event(), threading.Event(), []

    def items():
        yield 1
        received.wait(10)
        try:
            batches.close()
        except RuntimeError as error:
            problems.append(error)
        closed.set()
        yield 2

    batches = ahead(items())
    assert next(batches) == 1
    received.set()
    assert closed.wait(10)
    assert not problems
