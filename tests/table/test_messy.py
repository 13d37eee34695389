"""Tables as people have them: mistyped cells, decimal commas, R's row names, other encodings. Nothing in silence."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import polars as pl
import pytest

from synafa import SynAFA
from synafa.cli.app import run
from synafa.errors import SynafaError
from synafa.table.encoder import TableEncoder
from synafa.table.notices import Notice, TableWarning
from synafa.table.reading import read_table, split_target


def write(folder, text, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(path, **options):
    """The table and what was said about it."""
    notices: list[Notice] = []
    return read_table(path, tell=notices.append, **options), notices


@pytest.fixture
def lactate(tmp_path):
    """600 numbers, of which one is mistyped, and a class that they decide."""
    rng = np.random.default_rng(0)
    values = [f"{value:.2f}" for value in rng.uniform(0.5, 4, 600)]
    labels = [int(float(value) > 2) for value in values]
    values[411] = "1.2O"
    return write(
        tmp_path, "lactate,other,died\n" + "".join(f"{v},{i % 7},{y}\n" for i, (v, y) in enumerate(zip(values, labels)))
    )


def test_one_mistyped_cell_is_named_and_missing_and_the_column_stays_a_number(lactate):
    table, (notice,) = read(lactate)
    assert (notice.column, notice.row, notice.cell, notice.count) == ("lactate", 412, "1.2O", 1)
    assert "'lactate'" in notice.text
    assert "'1.2O' in row 412" in notice.text
    assert table["lactate"].dtype == pl.Float64
    assert table["lactate"].null_count() == 1
    assert table["lactate"][411] is None


def test_one_can_choose_to_stop_or_to_keep_the_text_and_that_is_said_too(lactate):
    with pytest.raises(SynafaError, match=r"'lactate'.*'1.2O' in row 412"):
        read(lactate, nearly_numeric="stop")
    table, (notice,) = read(lactate, nearly_numeric="text")
    assert table["lactate"].dtype == pl.String
    assert "kept as text" in notice.text
    with pytest.raises(SynafaError, match="'ignore'"):
        read(lactate, nearly_numeric="ignore")


def test_without_a_listener_it_is_a_warning(lactate):
    with pytest.warns(TableWarning, match="row 412"):
        read_table(lactate)


@pytest.mark.slow
def test_fit_says_it_and_next_then_takes_numbers(lactate, tmp_path, capsys):
    model = tmp_path / "m.synafa"
    assert run(["fit", str(lactate), "--target", "died", "-o", str(model)]) == 0
    captured = capsys.readouterr()
    assert "'1.2O' in row 412" in captured.err
    assert "1.2O" not in captured.out
    assert run(["next", str(model), "--observed", "lactate=2.05"]) == 0
    assert run(["fit", str(lactate), "--target", "died", "-o", str(model), "--nearly-numeric", "stop"]) == 2
    assert run(["fit", str(lactate), "--target", "died", "-o", str(model), "--nearly-numeric", "so-so"]) == 2


@pytest.mark.parametrize(("bad", "kind"), [(5, pl.Float64), (6, pl.String)])
def test_nearly_numeric_means_at_least_95_percent_of_the_cells_that_are_not_empty(tmp_path, bad, kind):
    cells = [*(f"{i}.5" for i in range(100 - bad)), *["high"] * bad, *["NA"] * 50]
    table, _ = read(write(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert table["a"].dtype == kind


def test_the_target_is_never_thinned_out(tmp_path):
    cells = [*["1"] * 60, *["2"] * 60, *["x"] * 3]
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    _, labels = split_target(read(path, as_text=["y"])[0], "y")
    assert sorted(set(labels.tolist())) == ["1", "2", "x"]


def test_a_type_that_only_a_late_row_shows_is_found(tmp_path):
    rows = [f"{i},{i % 5},t{i % 3},\n" for i in range(30_000)]
    rows[25_000] = "1.5,0,t0,\n"
    rows[26_000] = "2,0, t9 ,7\n"
    rows[27_000] = "3,99999999999999999999999,t9,8.5\n"
    table, notices = read(write(tmp_path, "a,b,c,late\n" + "".join(rows)))
    assert table["a"].dtype == pl.Float64
    assert table["a"][25_000] == 1.5
    assert table["b"][27_000] == pytest.approx(1e23)
    assert table["c"].n_unique() == 4
    assert table["late"].drop_nulls().to_list() == [7.0, 8.5]
    assert notices == []


def test_late_truth_values_and_late_numbers_give_what_the_sample_would_have(tmp_path):
    rows = ["true,1\n"] * 15_000 + ["false,2\n"] * 5
    early = read(write(tmp_path, "a,b\n" + "".join(rows)))[0]
    late = read(write(tmp_path, "a,b\n" + "".join(rows) + "TRUE,1.5\n"))[0]
    assert early["a"].dtype == late["a"].dtype == pl.Boolean
    assert late["a"].to_list()[:-1] == early["a"].to_list()


def test_decimal_commas_become_numbers_and_it_is_said(tmp_path):
    table, notices = read(write(tmp_path, "größe;b;c\n1,5;1;1.234,5\n-2,25;2;7,0\n3;3;NA\n"))
    assert table["größe"].to_list() == [1.5, -2.25, 3.0]
    assert table["c"].to_list() == [1234.5, 7.0, None]
    assert [(notice.column, notice.count) for notice in notices] == [("größe", 2), ("c", 2)]
    assert "decimal commas" in notices[0].text
    quoted, notices = read(write(tmp_path, 'a,b\n"1,5",1\n"2,25",2\n'))
    assert quoted["a"].to_list() == [1.5, 2.25]


def test_what_may_be_thousands_is_not_guessed(tmp_path):
    table, (notice,) = read(write(tmp_path, 'a,b\n"1,234",1\n"2,345",2\n'))
    assert table["a"].dtype == pl.String
    assert "thousand" in notice.text


def test_decimal_commas_and_a_mistyped_cell_together(tmp_path):
    rows = "".join(f"{i},5;1\n" for i in range(99)) + "1,2O;1\n"
    table, notices = read(write(tmp_path, "a;b\n" + rows))
    assert table["a"].null_count() == 1
    assert [notice.cell for notice in notices] == ["0,5", "1,2O"]


@pytest.mark.parametrize(
    "text", ['"","a","b"\n"1",5,x\n"2",6,y\n', '"a","b"\n"first",5,x\n"second",6,y\n', ",a,b\n0,5,x\n1,6,y\n"]
)
def test_rs_and_pandas_row_names_are_left_out_and_it_is_said(tmp_path, text):
    table, (notice,) = read(write(tmp_path, text))
    assert table.to_dict(as_series=False) == {"a": [5, 6], "b": ["x", "y"]}
    assert "left out" in notice.text


@pytest.mark.parametrize(
    ("text", "word"),
    [(",a\n1,5\n1,6\n", "Column 1"), ("a,b\n1,2,3\n1,2,3\n", "Line 2"), ("a,b\n1,2,3\n2,2,3\n4,5\n", "Line 4")],
)
def test_a_first_column_that_does_not_name_rows_is_not_left_out(tmp_path, text, word):
    with pytest.raises(SynafaError, match=word):
        read(write(tmp_path, text))


@pytest.mark.parametrize(("encoding", "called"), [("latin-1", "latin-1"), ("cp1252", "latin-1"), ("utf-16", "UTF-16")])
@pytest.mark.parametrize("text", ["größe,b\n1,x\n2,y\n", "a,b\n1,naïve\n2,größe\n"])
def test_other_encodings_are_read_and_it_is_said(tmp_path, text, encoding, called):
    table, notices = read(write(tmp_path, text, encoding=encoding))
    assert table.equals(read(write(tmp_path, text, "u.csv"))[0])
    assert [called in notice.text for notice in notices] == [True]


def test_a_workbook_is_told_the_way(tmp_path):
    for name in ("book.xlsx", "book.csv"):
        path = tmp_path / name
        path.write_bytes(b"PK\x03\x04" + bytes(100))
        with pytest.raises(SynafaError, match=r"workbook.*save its sheet as CSV"):
            read(path)


def test_duplicate_headers_and_unlabelled_rows_are_one_sentence(tmp_path):
    with pytest.raises(SynafaError, match="'a'"):
        read(write(tmp_path, "a,b,a\n1,2,3\n"))
    with pytest.raises(SynafaError, match="missing in 1 of 2 rows"):
        split_target(read(write(tmp_path, "a,y\n1,\n2,1\n"))[0], "y")


def test_classes_that_differ_by_a_zero_character_are_refused(tmp_path):
    table = pl.DataFrame({"a": [1, 2, 3], "y": ["p", "p\0", "q"]})
    with pytest.raises(SynafaError, match="zero character in row 2"):
        split_target(table, "y")
    with pytest.raises(SynafaError, match="zero character"):
        SynAFA().fit(table.select("a"), ["p", "p\0", "q"])
    with pytest.raises(SynafaError, match="zero character"):
        SynAFA().fit(table.select("a"), np.array(["p", "p\0", "q"], dtype=object))


def test_a_target_in_half_precision_is_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    y = np.array([0, 1, 1, 0] * 5, dtype=np.float16)
    pq.write_table(pa.table({"a": np.arange(20.0), "y": pa.array(y)}), tmp_path / "t.parquet")
    features, labels = split_target(read(tmp_path / "t.parquet")[0], "y")
    assert labels.tolist() == y.astype(int).tolist()
    SynAFA().fit(features, labels)


def test_a_cut_or_damaged_gz_file_is_called_that(tmp_path, capsys):
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,2\n" % i for i in range(5000)))
    path = tmp_path / "t.csv.gz"
    for broken in (data[:-20], data[: len(data) // 2], data[:20] + b"\xff" * 8 + data[28:]):
        path.write_bytes(broken)
        with pytest.raises(SynafaError, match="cut off or damaged"):
            read(path)
    assert run(["fit", str(path), "--target", "b", "-o", str(tmp_path / "m")]) == 2
    assert "Stopped" not in capsys.readouterr().err


def test_a_decompression_bomb_is_refused_at_the_limit_and_the_limit_can_be_raised(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 300_000))
    with pytest.raises(SynafaError, match="SYNAFA_MAX_TABLE_GIB"):
        read(path, max_bytes=1_000_000)
    monkeypatch.setenv("SYNAFA_MAX_TABLE_GIB", "0.0005")
    with pytest.raises(SynafaError, match=r"SYNAFA_MAX_TABLE_GIB"):
        read(path)
    pl.DataFrame({"a": pl.repeat(1, 500_000, eager=True)}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SynafaError, match=r"unpacks to 3\.8 MiB"):
        read(tmp_path / "t.parquet")
    monkeypatch.setenv("SYNAFA_MAX_TABLE_GIB", "1")
    assert read(path)[0].height == 300_000
    monkeypatch.setenv("SYNAFA_MAX_TABLE_GIB", "much")
    with pytest.raises(SynafaError, match="'much'"):
        read(path)


def test_a_million_columns_are_refused_at_once(tmp_path):
    path = write(tmp_path, ",".join(f"c{i}" for i in range(1_000_000)) + "\n" + ",".join(["1"] * 1_000_000) + "\n")
    with pytest.raises(SynafaError, match="1,000,000 columns"):
        read(path)


def test_a_parquet_file_that_makes_the_reader_panic_is_one_sentence(tmp_path, monkeypatch, capfd):
    class PanicException(BaseException):  # as the library's own: not an Exception
        pass

    def panic(*args, **kwargs):
        import os

        os.write(2, b"thread '<unnamed>' panicked at reader.rs:1\n")
        raise PanicException("index out of bounds")

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(SynafaError, match="not a readable Parquet file"):
        read(tmp_path / "t.parquet")
    assert "panicked" not in capfd.readouterr().err


def test_a_short_row_is_found_among_empty_last_cells_and_quotes(tmp_path):
    good = 'a,b,c\n"x, y",2,\n"q ""r"", s",3,\n' + "1,2,\n" * 50
    assert read(write(tmp_path, good))[0].height == 52
    with pytest.raises(SynafaError, match="Line 54"):
        read(write(tmp_path, good + '"x, y",2\n'))
    with pytest.raises(SynafaError, match="Line 54"):
        read(write(tmp_path, good + "1\n"))
    assert read(write(tmp_path, 'a,b\n"two\nlines",\n1,2\n'))[0].height == 2


def test_pandas_polars_and_arrays_of_text_are_encoded_alike_at_any_length():
    import pandas as pd

    rng = np.random.default_rng(0)
    cells = rng.choice(["a", " a", "b\x1c", "b", "ö", "", "  ", "a\0", None], 3000)
    frames = (
        pl.DataFrame({"t": pl.Series(cells.tolist(), dtype=pl.String)}),
        pd.DataFrame({"t": cells}),
        cells[:, None],
        pl.DataFrame({"t": pl.Series(cells.tolist(), dtype=pl.Categorical)}),
    )
    short = TableEncoder().fit(cells[:500, None].astype(object))
    expected = None
    for frame in frames:
        encoder = TableEncoder()
        values = encoder.fit_transform(frame)
        assert encoder.columns_[0].categories == ("a", "a\0", "b", "ö") == short.columns_[0].categories
        expected = values if expected is None else expected
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(encoder.transform(frame), expected)


def test_no_notice_for_an_ordinary_table(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(write(tmp_path, "a,b\n1,x\n2,y\n"))
