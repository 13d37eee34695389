"""Tables that would lose something in silence: classes that look alike, readers that give up, cells nobody named."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest

from synafa import AcquisitionClassifier, PlanTree, SynAFA
from synafa.errors import SynafaError
from synafa.stream.passes import stream_counts
from synafa.stream.sources import Source, open_source, reading
from synafa.table.notices import Notice
from synafa.table.panics import PanicError, unless_panic
from synafa.table.reading import read_table, split_target

LABELS = ["p", "p\0", "q"] * 20


@pytest.mark.parametrize("estimator", [SynAFA(), PlanTree(), AcquisitionClassifier()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    "y", [LABELS, np.array(LABELS, object), pl.Series(LABELS), pl.Series(LABELS).cast(pl.Categorical)]
)
def test_classes_that_differ_by_a_zero_character_are_refused_in_whatever_they_come(estimator, y):
    with pytest.raises(SynafaError, match="zero character"):
        estimator.fit(np.arange(180.0).reshape(60, 3), y)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["p", "p\0", "q"])])
def test_a_zero_character_in_the_target_is_named_by_row_in_memory_and_in_a_stream(tmp_path, kind):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": range(60), "y": pl.Series(LABELS).cast(kind)}).write_parquet(path)
    with pytest.raises(SynafaError, match="zero character in row 2"):
        split_target(read_table(path), "y")
    with pytest.raises(SynafaError, match="zero character in row 2"):
        stream_counts(open_source(path), "y")


def test_a_stream_names_the_odd_cell_of_a_nearly_numeric_column_as_a_table_in_memory_does(tmp_path):
    for name, odd in (("a.csv", None), ("b.csv", 41)):
        cells = ["1.2O" if i == odd else f"{i}.5" for i in range(60)]
        (tmp_path / name).write_text("v,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    notices: list[Notice] = []
    open_source(tmp_path, tell=notices.append)
    open_source(tmp_path, tell=notices.append, nearly_numeric="text")
    assert [(one.column, one.row, one.cell, one.count) for one in notices] == [("v", 42, "1.2O", 1)] * 2
    assert all("b.csv" in one.text for one in notices)
    with pytest.raises(SynafaError, match=r"'1.2O' in row 42 of .*b.csv"):
        open_source(tmp_path, nearly_numeric="stop")


@pytest.mark.skipif(not hasattr(pl, "Float16"), reason="this Polars has no half precision")
def test_classes_in_half_precision_are_classes_in_memory_and_in_a_stream(tmp_path, recwarn):
    path = tmp_path / "t.parquet"
    y = pl.Series([0.0, 1.0] * 30).cast(pl.Float16)
    pl.DataFrame({"a": range(60), "y": y}).write_parquet(path)
    assert stream_counts(open_source(path), "y").counts.classes.tolist() == [0, 1]
    assert np.unique(split_target(read_table(path), "y")[1]).tolist() == [0, 1]
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_a_stream_that_ends_before_its_last_row_is_refused():
    frame = pl.DataFrame({"a": range(10), "y": [0, 1] * 5})
    source = Source(dict(frame.schema), [frame.lazy], ["'t.parquet'"], [25], "id")
    with pytest.raises(SynafaError, match=r"'t.parquet' cannot be read beyond row 10 of 25"):
        list(source.batches())
    assert sum(batch.frame.height for batch in open_source(frame).batches(first=4)) == 6


class PanicException(BaseException):
    """As a library written in Rust raises it."""


def test_a_reader_that_panics_is_one_sentence_and_its_print_is_kept_back(capfd):
    def panic() -> None:
        os.write(2, b"thread '1' panicked at decode.rs:1:\nstack backtrace:\n")
        raise PanicException("index out of range")

    with pytest.raises(PanicError), unless_panic():
        panic()
    with (
        pytest.raises(SynafaError, match=r"^'t.parquet' cannot be read; it is damaged") as error,
        reading("'t.parquet'"),
    ):
        panic()
    assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""
    with unless_panic():
        os.write(2, b"worth knowing\n")
    assert capfd.readouterr().err == "worth knowing\n"
