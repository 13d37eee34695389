"""The study's files: shapes, splits, encodings, hashes, downloads."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from synafa.datasets import describe, load, load_raw, names, readers
from synafa.datasets.preprocess import encode_columns, fill_and_scale, split_rows
from synafa.errors import SynafaError

pl = pytest.importorskip("polars")

STUDY = [
    # name, shape, test rows, majority share of the test rows, positives, budgets
    ("ckd", (400, 24), 80, "0.600", 250, (2, 4, 7)),
    ("actg175", (2139, 23), 429, "0.730", 521, (3, 5, 10)),
    ("bank", (45211, 16), 9043, "0.884", 5289, (2, 4, 7)),
    ("physionet", (12000, 41), 2400, "0.862", 1707, (5, 10, 15)),
    ("mnist-loop", (60000, 784), 12000, "0.604", 23641, (5, 10, 20)),
]


@pytest.fixture
def copy_of_data(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the study's with the small files copied, to be damaged; the cache is empty."""
    folder = tmp_path / "data"
    for name in ("ckd", "actg175"):
        shutil.copytree(data_dir / name, folder / name)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    monkeypatch.setenv("SYNAFA_DATA", str(folder))
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.mark.data
@pytest.mark.parametrize(("name", "shape", "tests", "majority", "positives", "budgets"), STUDY)
def test_a_dataset_is_the_studys(data_dir, name, shape, tests, majority, positives, budgets):
    data = load(name)
    assert data.X.shape == shape
    assert (data.X.dtype, data.y.dtype, data.costs.dtype) == (np.float32, np.int64, np.float64)
    assert np.isfinite(data.X).all()
    assert data.y.sum() == positives
    assert len(data.test) == tests
    assert f"{np.bincount(data.y[data.test]).max() / tests:.3f}" == majority
    assert data.budgets == budgets
    assert (data.costs == 1.0).all()
    assert len(set(data.feature_names)) == shape[1]
    assert sorted(np.concatenate([data.train, data.validation, data.test])) == list(range(shape[0]))


@pytest.mark.data
@pytest.mark.parametrize("name", ["ckd", "actg175", "bank", "physionet"])
def test_columns_are_centred_and_scaled_over_the_whole_table(data_dir, name):
    X = load(name).X.astype(np.float64)
    constant = X.std(axis=0) == 0
    assert np.abs(X.mean(axis=0)).max() < 1e-5
    assert np.abs(X.std(axis=0)[~constant] - 1).max() < 1e-5
    of_one_value = {"actg175": ["zprior"], "physionet": ["MechVent"]}.get(name, [])
    assert [n for n, alone in zip(load(name).feature_names, constant) if alone] == of_one_value


def test_the_split_is_pythons_shuffle_with_the_instance_as_seed():
    rows = list(range(101))
    random.Random(7).shuffle(rows)
    train, validation, test = split_rows(101, 7)
    assert train.tolist() == rows[:60]
    assert validation.tolist() == rows[60:80]
    assert test.tolist() == rows[80:]


@pytest.mark.data
def test_an_instance_changes_the_split_and_not_the_rows(data_dir):
    first, second = load("ckd", instance=0), load("ckd", instance=1)
    assert np.array_equal(first.X, second.X)
    assert not np.array_equal(first.test, second.test)


@pytest.mark.data
def test_both_kidney_files_hold_the_same_table(data_dir):
    arff = readers.read_ckd_arff([data_dir / "ckd/chronic_kidney_disease_full.arff"])
    kaggle = readers.read_ckd_csv([data_dir / "ckd/kidney_disease_kaggle.csv"])
    assert arff.feature_names == kaggle.feature_names
    np.testing.assert_array_equal(arff.values, kaggle.values)
    np.testing.assert_array_equal(arff.y, kaggle.y)
    missing = dict(zip(arff.feature_names, np.isnan(arff.values).sum(axis=0)))
    assert sum(missing.values()) == 1012
    expected = {"rbc": 152, "rbcc": 131, "wbcc": 106, "pot": 88, "hemo": 52, "age": 9, "cad": 2, "ane": 1}
    assert {name: missing[name] for name in expected} == expected
    cell = {name: arff.values[:, j] for j, name in enumerate(arff.feature_names)}
    assert set(np.unique(cell["dm"][~np.isnan(cell["dm"])])) == {0.0, 1.0}  # ' yes' and '\tno' are yes and no
    assert (cell["wbcc"][76], cell["wbcc"][133], cell["pcv"][214]) == (6200, 8400, 43)
    assert (cell["dm"][369], cell["cad"][369], cell["appet"][369]) == (0, 0, 0)  # no, no, good


@pytest.mark.data
def test_the_kaggle_file_serves_when_the_arff_is_not_there(copy_of_data):
    whole = load("ckd")
    (copy_of_data / "ckd/chronic_kidney_disease_full.arff").unlink()
    other = load("ckd")
    assert whole.fingerprint() == other.fingerprint()
    assert "kaggle" in other.source


@pytest.mark.data
def test_actg175_comes_in_ucis_order_from_either_file(copy_of_data):
    uci = load("actg175")
    assert uci.feature_names == tuple(
        [
            "time",
            "trt",
            "age",
            "wtkg",
            "hemo",
            "homo",
            "drugs",
            "karnof",
            "oprior",
            "z30",
            "zprior",
            "preanti",
            "race",
            "gender",
            "str2",
            "strat",
            "symptom",
            "treat",
            "offtrt",
            "cd40",
            "cd420",
            "cd80",
            "cd820",
        ]
    )
    header = (copy_of_data / "actg175/actg175_uci.csv").read_text().splitlines()[0].split(",")
    assert uci.feature_names == tuple(header[2:])
    (copy_of_data / "actg175/actg175_uci.csv").unlink()
    assert load("actg175").fingerprint() == uci.fingerprint()
    raw = load_raw("actg175")
    assert raw.values[0, :4].tolist() == [948, 2, 48, 89.8128]


@pytest.mark.data
def test_unknown_ranks_as_nan_in_the_study_and_is_missing_in_the_raw_table(data_dir):
    raw = load_raw("bank")
    missing = dict(zip(raw.feature_names, np.isnan(raw.values).sum(axis=0)))
    assert {k: v for k, v in missing.items() if v} == {
        "job": 288,
        "education": 1857,
        "contact": 13020,
        "poutcome": 36959,
    }
    published = readers.read_bank_as_published([data_dir / "bank/bank.zip"])
    poutcome = published.values[:, raw.feature_names.index("poutcome")]
    assert not np.isnan(published.values).any()
    assert np.bincount(poutcome.astype(int))[1] == 36959  # failure < nan < other < success


@pytest.mark.data
def test_raw_physionet_keeps_its_gaps(data_dir):
    raw, data = load_raw("physionet"), load("physionet")
    assert np.isnan(raw.values).sum() == 129_088
    assert (np.isnan(raw.values).mean(axis=0) < 0.35).sum() == 28
    assert raw.feature_names == data.feature_names
    np.testing.assert_array_equal(raw.y, data.y)
    pair = raw.values[:, [raw.feature_names.index("GCS"), raw.feature_names.index("PaO2")]]
    assert (~np.isnan(pair).any(axis=1)).sum() == 8970
    filled = np.where(np.isnan(raw.values), np.nanmean(raw.values, axis=0), raw.values)
    deviation = filled.std(axis=0)
    deviation[deviation == 0] = 1.0
    np.testing.assert_allclose(data.X, (filled - filled.mean(axis=0)) / deviation, rtol=1e-5, atol=1e-6)


@pytest.mark.data
def test_loop_digits_are_positive_and_pixels_lie_between_0_and_1(data_dir):
    data = load("mnist-loop")
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    labels = readers._read_idx(data_dir / "mnist/train-labels-idx1-ubyte.gz")
    assert set(labels[data.y == 1]) == {0, 6, 8, 9}
    assert set(labels[data.y == 0]) == {1, 2, 3, 4, 5, 7}
    np.testing.assert_array_equal(load_raw("mnist-loop").values[5], np.rint(data.X[5] * 255.0))


def miniboone_file(path: Path, signal: int = 3, background: int = 4, rows: int | None = None) -> np.ndarray:
    """A small file in MiniBooNE's layout; its numbers are made up for the parser and stand for no events."""
    values = np.random.default_rng(0).normal(size=(signal + background, 50)).round(6)
    values[1] = -999.0
    lines = [f"  {signal}  {background}", *("   ".join(f"{x: .6E}" for x in row) for row in values[:rows])]
    path.write_text("\n".join(lines) + "\n")
    return values


def test_the_miniboone_parser_reads_counts_then_events(tmp_path):
    values = miniboone_file(tmp_path / "MiniBooNE_PID.txt")
    table = readers.read_miniboone([tmp_path / "MiniBooNE_PID.txt"])
    np.testing.assert_allclose(table.values, values, rtol=1e-6)
    assert table.y.tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert (table.values[1] == -999.0).all()
    assert len(table.feature_names) == 50


def test_a_miniboone_text_that_is_cut_short_is_refused_by_its_counts(tmp_path):
    path = tmp_path / "MiniBooNE_PID.txt"
    miniboone_file(path, rows=5)
    with pytest.raises(SynafaError, match=r"announces 3 \+ 4 events of 50 numbers but holds 250"):
        readers.read_miniboone([path])
    path.write_text("1 -1\n" + "0.5 " * 50)
    with pytest.raises(SynafaError, match="must begin with the numbers of signal"):
        readers.read_miniboone([path])
    path.write_text("1 0\n" + "0.5 " * 49 + "x\n")
    with pytest.raises(SynafaError, match="no number"):
        readers.read_miniboone([path])


def test_load_never_takes_another_file_for_miniboone(tmp_path, monkeypatch):
    """The parser works on any path, but the name stands only for the published file."""
    monkeypatch.setenv("SYNAFA_DATA", str(tmp_path))
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "miniboone").mkdir()
    miniboone_file(tmp_path / "miniboone/MiniBooNE_PID.txt")
    with pytest.raises(
        SynafaError, match="expected sha256 577ab8bcb612199a0386cef1725058295df9a18b778a003a6a4349bbd51abd48"
    ):
        load("miniboone")


def test_a_missing_file_is_one_sentence_with_hash_and_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNAFA_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SynafaError) as caught:
        load("physionet")
    message = str(caught.value)
    assert "daca2ea78d228b93488f68938ab667a31e683adcbe916b77769633bc297aad91" in message
    assert "synafa data fetch physionet" in message
    assert "\n" not in message


@pytest.mark.data
@pytest.mark.parametrize("damage", ["altered", "truncated", "empty"])
def test_a_damaged_file_is_refused(copy_of_data, damage):
    path = copy_of_data / "ckd/chronic_kidney_disease_full.arff"
    content = path.read_bytes()
    path.write_bytes(
        {"altered": content.replace(b"48,80", b"49,80", 1), "truncated": content[:-100], "empty": b""}[damage]
    )
    with pytest.raises(SynafaError, match=r"altered or cut short: expected sha256 a5ea9636\w+ \(47277 bytes\), found"):
        load("ckd")
    with pytest.raises(SynafaError, match="altered or cut short"):
        load_raw("ckd")
    assert {info.name: info.state for info in describe()}["ckd"] == "altered"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(SynafaError, match=r"name must be one of .*'ckd'.*'cube-nm'.*got: 'kidney'"):
        load("kidney")
    with pytest.raises(SynafaError, match="generated and has no file"):
        load_raw("cube")
    with pytest.raises(SynafaError, match="takes no parameter 'alpha'"):
        load("ckd", alpha=0.5)
    assert len(names()) == 10


def test_text_is_ranked_by_its_sorted_strings_and_numbers_stay():
    frame = pl.DataFrame({"n": ["1", " 2.5", None, "?"], "t": ["b", "a ", "", "c"], "z": ["10", "9", "x", "9"]})
    np.testing.assert_array_equal(encode_columns(frame), [[1, 1, 0], [2.5, 0, 1], [np.nan, np.nan, 2], [np.nan, 2, 1]])
    assert encode_columns(frame, missing_category="bb")[:, 1].tolist() == [1, 0, 2, 3]


def test_filling_and_scaling_by_hand():
    values = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    scaled = fill_and_scale(values)
    np.testing.assert_allclose(scaled[:, 0], [-np.sqrt(1.5), np.sqrt(1.5), 0.0], rtol=1e-6)
    assert (scaled[:, 1:] == 0.0).all()
