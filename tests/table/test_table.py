"""What a table may look like, and what happens when it may not."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.table.encoder import TableEncoder
from synafa.table.reading import parse_costs, read_table, split_target


def write(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


TRAIN = pl.DataFrame(
    {
        "age": [40, None, 60, 80],
        "sex": ["m", "f", "f", None],
        "smoker": [True, False, None, True],
        "dose": [0.5, 1.5, math.nan, 1.0],
    }
)


def test_numbers_booleans_and_text_become_numbers_and_empty_cells_nan():
    nan = math.nan
    expected = [[40, 1, 1, 0.5], [nan, 0, 0, 1.5], [60, 0, nan, nan], [80, nan, 1, 1.0]]
    np.testing.assert_array_equal(TableEncoder().fit_transform(TRAIN), expected)


def test_pandas_and_polars_give_the_same_values():
    frame = pd.DataFrame(
        {
            "age": pd.array([40, None, 60, 80], dtype="Int64"),
            "sex": pd.Categorical(["m", "f", "f", None]),
            "smoker": pd.array([True, False, None, True], dtype="boolean"),
            "dose": [0.5, 1.5, math.nan, 1.0],
        }
    )
    np.testing.assert_array_equal(TableEncoder().fit_transform(frame), TableEncoder().fit_transform(TRAIN))


def test_fill_uses_the_training_mean_and_the_most_frequent_training_category():
    encoder = TableEncoder().fit(TRAIN)
    np.testing.assert_allclose(encoder.fill_values_, [60.0, 0.0, 2 / 3, 1.0])


def test_a_category_no_training_row_had_is_unknown():
    encoder = TableEncoder().fit(TRAIN)
    assert np.isnan(encoder.transform(TRAIN.with_columns(sex=pl.lit("other")))[:, 1]).all()


def test_columns_are_found_by_name_and_extra_ones_are_ignored():
    encoder = TableEncoder().fit(TRAIN)
    shuffled = TRAIN.select("dose", "smoker", pl.lit("x").alias("note"), "sex", "age")
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(TRAIN))


def test_text_codes_that_look_like_numbers_survive_a_file_without_the_other_texts():
    encoder = TableEncoder().fit(pl.DataFrame({"ward": ["1", "2", "icu"]}))
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"ward": [2, 1]})), [[1], [0]])
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"ward": [2.0, None]})), [[1], [math.nan]])


def test_an_array_keeps_its_values():
    X = np.arange(6.0).reshape(3, 2)
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X)
    assert encoder.feature_names_ == ("x0", "x1")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (TRAIN.drop("sex"), ["'sex'", "missing"]),
        (TRAIN.with_columns(age=pl.Series(["40", "50", "sixty", "70"])), ["'age'", "'sixty'", "row 3"]),
        (TRAIN.with_columns(dose=pl.Series([1.0, math.inf, 2.0, 3.0])), ["'dose'", "infinity", "row 2"]),
        (np.zeros((2, 3)), ["3 features", "4 features"]),
        (np.zeros(4), ["Reshape your data"]),
        (TRAIN.with_columns(age=pl.Series([[1], [2], [3], [4]])), ["'age'", "row 1"]),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(rows, words):
    encoder = TableEncoder().fit(TRAIN)
    with pytest.raises(SynafaError) as error:
        encoder.transform(rows)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_one_value_is_encoded_like_a_cell():
    encoder = TableEncoder().fit(TRAIN)
    assert encoder.encode_value("age", "41.5") == 41.5
    assert encoder.encode_value("sex", "m") == 1.0
    assert math.isnan(encoder.encode_value("sex", "x"))
    for name, value, words in [("age", "old", "not a number"), ("dose", "inf", "infinite"), ("ag", 1, "did you mean")]:
        with pytest.raises(SynafaError, match=words):
            encoder.encode_value(name, value)


def test_a_table_without_rows_or_columns_or_with_a_name_twice_is_refused():
    with pytest.raises(SynafaError, match="no rows"):
        TableEncoder().fit(TRAIN.clear())
    with pytest.raises(SynafaError, match="no feature"):
        TableEncoder().fit(np.empty((3, 0)))
    with pytest.raises(SynafaError, match="'a'"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(SynafaError, match="dates"):
        TableEncoder().fit(pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}))
    with pytest.raises(SynafaError, match="'wide' holds 128-bit whole numbers"):
        TableEncoder().fit(pl.DataFrame({"wide": pl.Series([1], dtype=pl.Int128)}))


def test_an_encoder_survives_json():
    encoder = TableEncoder().fit(TRAIN)
    again = TableEncoder.from_meta(json.loads(json.dumps(encoder.to_meta())))
    assert again.columns_ == encoder.columns_
    with pytest.raises(SynafaError, match="damaged"):
        TableEncoder.from_meta([{"name": "a"}])


@example(["\x00"])
@example(["a\x00", "a", "a"])
@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(-3, 3), st.booleans()), min_size=1, max_size=12))
def test_any_column_of_cells_encodes_to_codes_within_its_categories_or_to_numbers(cells):
    column = np.array([*cells, None], dtype=object)[:, None]
    encoder = TableEncoder().fit(column)
    values = encoder.transform(column)
    known = values[~np.isnan(values)]
    if encoder.columns_[0].kind == "text":
        assert set(known) == set(range(len(encoder.columns_[0].categories)))
    assert np.isfinite(encoder.fill_values_).all()


def test_csv_cells_that_mean_missing_are_missing_and_spaces_do_not_make_text(tmp_path):
    table = read_table(write(tmp_path, "a,b,y\n 1,x,0\nNA,?,1\n3 , z ,1\n"))
    assert table["a"].to_list() == [1.0, None, 3.0]
    assert table["b"].to_list() == ["x", None, "z"]


def test_numbers_beyond_64_bits_are_numbers(tmp_path):
    table = read_table(write(tmp_path, f"a,b\n{'9' * 30},1\n1,2\n"))
    np.testing.assert_allclose(TableEncoder().fit_transform(table)[:, 0], [1e30, 1])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_comma_semicolon_and_tab_are_recognised(tmp_path, separator):
    table = read_table(write(tmp_path, "\ufeffa,b\n1,2\n".replace(",", separator)))
    assert table.to_dict(as_series=False) == {"a": [1], "b": [2]}


def test_parquet_and_csv_hold_the_same_table(tmp_path):
    TRAIN.write_parquet(tmp_path / "t.parquet")
    TRAIN.write_csv(tmp_path / "t.csv")
    fit = TableEncoder().fit_transform
    np.testing.assert_array_equal(
        fit(read_table(tmp_path / "t.parquet"))[:, [0, 1, 3]], fit(read_table(tmp_path / "t.csv"))[:, [0, 1, 3]]
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "no column names"),
        ("a,b\n", "no rows"),
        ("a,b,a\n1,2,3\n", "'a'"),
        ("a,,c\n1,2,3\n", "Column 2"),
        ("1,2\n3,4\n", "column names"),
        ("a,b\n1,2\n1\n", "Line 3"),
        ("a,b\n1,2\n1,2,3\n", "Line 3"),
    ],
)
def test_an_unusable_csv_file_is_refused_with_the_reason(tmp_path, text, words):
    with pytest.raises(SynafaError, match=words):
        read_table(write(tmp_path, text))


def test_missing_foreign_and_binary_files_are_refused(tmp_path):
    with pytest.raises(SynafaError, match="no file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(SynafaError, match="folder"):
        read_table(tmp_path)
    with pytest.raises(SynafaError, match="neither CSV nor Parquet"):
        read_table(write(tmp_path, "a\n1\n", "book.txt"))
    with pytest.raises(SynafaError, match="Parquet"):
        read_table(write(tmp_path, "a,b\n1,2\n", "t.parquet"))


def test_the_target_is_split_off_and_must_be_complete():
    features, labels = split_target(TRAIN.with_columns(y=pl.Series([1.0, 0.0, 1.0, 1.0])), "y")
    assert features.columns == TRAIN.columns
    assert labels.tolist() == [1, 0, 1, 1]
    with pytest.raises(SynafaError, match=r"missing in 1 of 4 rows, first in row 4"):
        split_target(TRAIN, "sex")
    with pytest.raises(SynafaError, match=r"infinite in row 2"):
        split_target(pl.DataFrame({"a": [1, 2], "y": [0.0, math.inf]}), "y")
    with pytest.raises(SynafaError, match="did you mean 'smoker'"):
        split_target(TRAIN, "smokr")
    with pytest.raises(SynafaError, match="beside the target"):
        split_target(pl.DataFrame({"y": [0, 1]}), "y")
    with pytest.raises(SynafaError, match="300 distinct values"):
        split_target(pl.DataFrame({"a": range(300), "y": range(300)}), "y")


def test_costs_come_as_words_files_or_mappings(tmp_path):
    expected = {"a": 2.0, "b": 1.0, "c": 0.0}
    names = ["a", "b", "c"]
    (tmp_path / "c.json").write_text('{"a": 2, "c": 0}')
    (tmp_path / "c.csv").write_text("feature,cost\na,2\nc,0\n")
    assert parse_costs(["a=2", "c=0"], names) == expected
    assert parse_costs({"a": 2, "c": 0}, names) == expected
    assert parse_costs(tmp_path / "c.json", names) == expected
    assert parse_costs([str(tmp_path / "c.csv")], names) == expected
    assert parse_costs([], names) is None


@pytest.mark.parametrize("cost", ["-1", "nan", "inf", "cheap", ""])
def test_a_cost_that_is_not_a_finite_number_of_at_least_zero_is_refused(cost):
    with pytest.raises(SynafaError, match="cost of 'a'"):
        parse_costs([f"a={cost}"], ["a"])


def test_a_cost_for_an_unknown_feature_is_refused(tmp_path):
    with pytest.raises(SynafaError, match="'GSC'; did you mean 'GCS'"):
        parse_costs(["GSC=1"], ["GCS"])
    with pytest.raises(SynafaError, match="no cost file"):
        parse_costs([str(tmp_path / "c.json")], ["a"])
    with pytest.raises(SynafaError, match="name=cost"):
        parse_costs(["a"], ["a"])
