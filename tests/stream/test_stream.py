"""Streams against the whole table in memory: random columns, batches, orders, kinds of files."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synafa import InformationTables, PairCounts, SynAFA, SynafaError, load_model
from synafa.stream import opened, passes, quantiles
from synafa.stream.columns import column_of
from synafa.stream.passes import stream_counts
from synafa.stream.sources import open_source
from synafa.table.reading import read_table, split_target

pytestmark = pytest.mark.slow


def random_table(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Columns of every kind that a stream distinguishes."""
    x = rng.normal(size=n)
    hole = rng.random(n) < rng.choice([0.0, 0.1, 0.6])
    columns = {
        "normal": x,
        "sorted": np.sort(x),
        "single": (x * 10).astype(np.float32),
        "rounded": x.round(1),
        "mostly zero": np.maximum(x - 1, 0),
        "half": np.where(np.arange(n) % 2 == 0, 1.5, -1.5),
        "constant": np.full(n, 3.25),
        "byte": rng.integers(0, 200, n).astype(np.uint8),
        "signed": rng.integers(-100, 100, n).astype(np.int8),
        "whole": rng.integers(-(10**15), 10**15, n),
        "truth": rng.random(n) < 0.3,
        "text": rng.choice(["a", "b", " b", "c d", "Z", ""], n, p=[0.3, 0.2, 0.1, 0.2, 0.15, 0.05]),
        "huge": x * 1e300,
        "tiny": x * 1e-310,
    }
    table = pl.DataFrame(columns)
    with_holes = [pl.when(pl.Series(~hole)).then(pl.col(name)).alias(f"{name}?") for name in ("normal", "byte", "text")]
    return table.with_columns(*with_holes, pl.lit(None, pl.Float64).alias("empty"))


def assert_same(found, policy, y, n_bins):
    rule = policy.rule_
    assert found.encoder.columns_ == rule.encoder.columns_
    assert found.edges.tobytes() == rule.edges.tobytes()
    assert found.counts == PairCounts.from_codes(policy.codes_, y, n_bins, missing=policy.tables_.missing)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(2, 700), st.integers(1, 300), st.sampled_from([2, 3, 5]), st.integers(0, 10**6), st.booleans())
def test_any_batches_in_any_order_give_the_numbers_of_the_whole_table(n, size, n_bins, seed, continuous):
    rng = np.random.default_rng(seed)
    table = random_table(n, rng)
    if not continuous:
        table = table.select("rounded", "byte", "text", "truth", "signed", "text?", "byte?")
    y = np.concatenate([["no", "yes"], rng.choice(["no", "yes", "maybe"], n - 2)])
    policy = SynAFA(n_bins=n_bins).fit(table, y)
    whole = table.with_columns(pl.Series("y", y))
    frames = [whole[i : i + size] for i in range(0, n, size)]
    found = stream_counts(frames, "y", n_bins=n_bins)
    assert_same(found, policy, y, n_bins)
    assert (found.codes == policy.codes_).all()
    assert (found.y == policy.y_).all()
    shuffled = [frames[i].sample(fraction=1.0, shuffle=True, seed=seed) for i in rng.permutation(len(frames))]
    other = stream_counts(shuffled, "y", n_bins=n_bins)
    assert other.encoder.columns_ == found.encoder.columns_
    assert other.edges.tobytes() == found.edges.tobytes()
    assert other.counts.to_bytes() == found.counts.to_bytes()


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([9, 20, 70]),
    st.integers(80, 500),
    st.integers(1, 300),
    st.sampled_from([2, 3]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_many_classes_are_counted_as_in_memory(n_classes, n, size, n_bins, holes, text, seed):
    """More classes than a word is compressed for, few of them in a small batch."""
    rng = np.random.default_rng(seed)
    table = random_table(n, rng).select("normal", "rounded", "single", "byte", "truth", "text")
    if holes:
        gone = pl.Series(rng.random(n) < 0.2)
        table = table.with_columns(pl.when(~gone).then(pl.col(name)).alias(name) for name in ("normal", "byte", "text"))
    y = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]))
    y = np.array([f"class {label}" for label in y]) if text else y * 3 - 20
    policy = SynAFA(n_bins=n_bins).fit(table, y)
    frames = [table.with_columns(y=y)[i : i + size] for i in range(0, n, size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "SAMPLE", 64)
        found = stream_counts(frames, "y", n_bins=n_bins)
    assert len(found.counts.classes) == n_classes
    assert_same(found, policy, y, n_bins)
    assert (found.codes == policy.codes_).all()
    assert (found.y == policy.y_).all()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_edges_are_exact_however_little_is_kept_and_however_wrong_the_sample(data):
    n = data.draw(st.integers(1, 400))
    n_bins = data.draw(st.sampled_from([2, 3, 7]))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    kind = data.draw(st.sampled_from(["normal", "sorted", "scales", "ties", "two"]))
    x = rng.normal(size=n)
    values = {
        "normal": x,
        "sorted": np.sort(x),
        "scales": x * 10.0 ** rng.integers(-300, 300, n),
        "ties": x.round(1),
        "two": np.where(x > 0.5, 1.0, x.round(0)),
    }[kind]
    misled = data.draw(st.booleans())
    sample = pl.Series(values[:80] + (100.0 if misled else 0.0))
    column = column_of("x", pl.Float64(), n_bins, 1, sample)
    for rank in column.ranks:
        rank.limit = data.draw(st.integers(4, 40))
    pieces = np.array_split(values, data.draw(st.integers(1, 6)))
    for piece in pieces:
        column.update(pl.Series(piece), "here", 0)
    fitted, edges = column.finished()
    for _ in range(8):
        if edges is not None:
            break
        for piece in pieces:
            column.again(piece)
        fitted, edges = column.finished()
    policy = SynAFA(n_bins=n_bins).fit(np.column_stack([values, values]), np.arange(n) % 2) if n > 1 else None
    assert edges is not None, "more than eight passes"
    if policy is not None:
        assert edges.tobytes() == policy.rule_.edges[0].tobytes()
        assert fitted.fill == policy.rule_.encoder.columns_[0].fill


def test_a_sorted_stream_with_a_misleading_sample_still_has_exact_edges(monkeypatch):
    monkeypatch.setattr(quantiles, "BUCKETS", 4096)
    n = 60_000
    values = np.sort(np.random.default_rng(0).normal(size=n))
    table = pl.DataFrame({"x": values, "z": values[::-1].copy(), "y": np.arange(n) % 2})
    monkeypatch.setattr(passes, "SAMPLE", 500)
    monkeypatch.setattr("synafa.stream.columns._MEMORY", 1)
    found = stream_counts([table[i : i + 1000] for i in range(0, n, 1000)], "y")
    assert found.edges.ravel().tolist() == [np.median(values)] * 2
    assert 2 < found.passes <= 8


def test_one_pass_is_enough_where_the_sample_says_where_the_edges_lie():
    rng = np.random.default_rng(0)
    n = 300_000
    y = rng.integers(0, 3, n)
    columns = {
        "few": rng.integers(0, 9, n),
        "text": rng.choice(["u", "v"], n),
        "continuous": rng.normal(size=n),
        "float32": rng.normal(size=n).astype(np.float32),
        "levels": (rng.normal(size=n) * 20).round().astype(np.float32),
        "byte": rng.integers(0, 200, n).astype(np.uint8),
        "half": np.arange(n) % 2.0,
        "top": np.where(rng.random(n) < 0.7, 2.0, rng.integers(0, 2, n)),
    }
    table = pl.DataFrame(columns)
    policy = SynAFA().fit(table, y)
    found = stream_counts([table.with_columns(y=y)[i : i + 20_000] for i in range(0, n, 20_000)], "y")
    assert found.passes == 1
    assert_same(found, policy, y, 2)


@pytest.mark.parametrize(("n_bins", "holes"), [(2, False), (4, False), (2, True), (4, True)])
def test_rows_whose_codes_were_provisional_are_put_right(monkeypatch, n_bins, holes):
    monkeypatch.setattr(passes, "SAMPLE", 400)
    monkeypatch.setattr("synafa.stream.columns._MEMORY", (n_bins - 1) << 18)
    forgotten = []
    prune = opened.OpenCounter.prune
    monkeypatch.setattr(opened.OpenCounter, "prune", lambda self: (forgotten.append(1), prune(self)))
    rng = np.random.default_rng(1)
    n = 60_000
    x = rng.normal(size=(n, 3))
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1].astype(np.float32), "c": x[:, 2].round(2), "d": x[:, 0] > 0.3})
    if holes:
        gone = pl.Series(rng.random(n) < 0.2)
        table = table.with_columns(pl.when(~gone).then(pl.col(name)).alias(name) for name in ("a", "b", "d"))
    y = rng.choice(["p", "q", "r"], n)
    frames = [table.with_columns(y=y)[i : i + 3000] for i in range(0, n, 3000)]
    policy = SynAFA(n_bins=n_bins).fit(table, y)
    passed = []
    for room in (
        1 << 28,
        400_000 * (n_bins - 1),
        1 << 12,
    ):  # plenty; some is forgotten on the way; too little for one pass
        monkeypatch.setattr(opened, "MOST_BYTES", room)
        found = stream_counts(frames, "y", n_bins=n_bins)
        assert_same(found, policy, y, n_bins)
        passed.append((found.passes, len(forgotten)))
    assert [n for n, _ in passed] == [1, 1, 2]
    assert passed[0][1] < passed[1][1], "nothing was forgotten"


def test_rows_in_an_order_take_more_passes_and_give_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    n = 200_000
    drift = np.linspace(-3, 3, n)
    table = pl.DataFrame({"a": np.sort(rng.normal(size=n)), "b": rng.normal(size=n) + drift, "c": -drift})
    y = (np.arange(n) >= n // 2).astype(np.int64)
    found = stream_counts([table.with_columns(y=y)[i : i + 10_000] for i in range(0, n, 10_000)], "y")
    assert_same(found, SynAFA().fit(table, y), y, 2)


def test_a_category_and_a_class_that_come_last_are_not_lost(monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 8)
    start = pl.DataFrame({"t": ["b", "c"] * 300, "u": [1, 2] * 300, "y": [5, 6] * 300})
    end = pl.DataFrame({"t": ["a", "d"], "u": [1, 1], "y": [5, 4]})
    found = stream_counts([start, end], "y")
    policy = SynAFA().fit(pl.concat([start, end]).drop("y"), pl.concat([start, end])["y"].to_numpy())
    assert found.encoder.columns_[0].categories == ("a", "b", "c", "d")
    assert found.counts.classes.tolist() == [4, 5, 6]
    assert_same(found, policy, pl.concat([start, end])["y"].to_numpy(), 2)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(300, 700), st.integers(1, 200), st.sampled_from([2, 3]), st.integers(0, 10**6), st.booleans())
def test_empty_cells_that_the_sample_has_not_seen_are_counted_apart_all_the_same(n, size, n_bins, seed, text):
    rng = np.random.default_rng(seed)
    table = (
        random_table(n, rng)
        .select("normal", "rounded", "truth", "text?")
        .with_columns(pl.col("text?").fill_null("b").replace("", "c"))
    )
    late = {"normal": [None], "rounded": [0.5], "truth": [None], "text?": [" " if text else "a"]}
    table = pl.concat([table, pl.DataFrame(late, schema=table.schema)])
    y = np.concatenate([["no", "yes"], rng.choice(["no", "yes", "maybe"], n - 1)])
    frames = [table.with_columns(y=y)[i : i + size] for i in range(0, n + 1, size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "SAMPLE", 40)
        found = stream_counts(frames, "y", n_bins=n_bins)
    policy = SynAFA(n_bins=n_bins).fit(table, y)
    assert_same(found, policy, y, n_bins)
    assert found.missing == (1, 0, 1, int(text))
    assert (found.codes == policy.codes_).all()
    assert SynAFA(n_bins=n_bins).from_streamed(found).tables_.pair.tobytes() == policy.tables_.pair.tobytes()


def test_an_empty_cell_costs_one_pass_more_only_where_the_sample_has_none():
    rng = np.random.default_rng(5)
    n = 120_000
    x = rng.normal(size=n)
    y = rng.integers(0, 2, n)
    for gone, n_passes in ((np.arange(n) % 7 == 0, 1), (np.arange(n) == n - 3, 2)):
        table = pl.DataFrame({"x": np.where(gone, np.nan, x), "z": x[::-1].copy()})
        found = stream_counts([table.with_columns(y=y)[i : i + 20_000] for i in range(0, n, 20_000)], "y")
        assert found.passes == n_passes
        assert_same(found, SynAFA().fit(table, y), y, 2)


def test_edges_of_a_sample_say_how_far_they_are_off():
    rng = np.random.default_rng(0)
    n = 40_000
    table = pl.DataFrame({"x": rng.normal(size=n), "k": rng.integers(0, 4, n), "y": rng.integers(0, 2, n)})
    frames = [table[i : i + 4000] for i in range(0, n, 4000)]
    exact = stream_counts(frames, "y")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "SAMPLE", 2000)
        rough = stream_counts(frames, "y", edges="sample")
    assert exact.rank_error == 0.0
    ends = np.sort([exact.edges[:, 0], rough.edges[:, 0]], axis=0)
    values = table.select("x", "k").to_numpy()
    assert rough.rank_error == ((values > ends[0]) & (values <= ends[1])).mean(axis=0).max() > 0
    assert rough.passes == 1


def test_given_edges_are_used_as_they_are():
    table = pl.DataFrame({"x": np.arange(10.0), "z": [None, *np.arange(9.0)], "y": [0, 1] * 5})
    found = stream_counts(table, "y", edges=[[2.0], [7.5]])
    assert found.counts.code_counts().sum(axis=0).tolist() == [[3, 7, 0], [8, 1, 1]], "an empty cell is no bin's"
    by_name = stream_counts(table, "y", edges={"x": [2.0]})
    assert by_name.edges.ravel().tolist() == [2.0, 4.0]
    for bad, words in [([[1.0]], "shape"), ({"w": [1.0]}, "unknown feature 'w'"), ("some", "must be 'exact'")]:
        with pytest.raises(SynafaError, match=words):
            stream_counts(table, "y", edges=bad)


@pytest.mark.parametrize("pattern", ["part*.csv", "part*.parquet", "whole"])
def test_files_patterns_and_folders_give_the_model_of_the_whole_file_to_the_byte(folder, pattern, tmp_path):
    features, labels = split_target(read_table(folder / "whole" / "table.csv"), "y")
    if "parquet" in pattern:
        features = features.select("late", "c", "b", "a")  # the order of the first file
    SynAFA(budget=3).fit(features, labels, target="y").save(tmp_path / "memory.synafa")
    streamed = SynAFA(budget=3).fit_stream(str(folder / pattern), "y")
    streamed.save(tmp_path / "stream.synafa")
    assert (tmp_path / "memory.synafa").read_bytes() == (tmp_path / "stream.synafa").read_bytes()
    again = load_model(tmp_path / "stream.synafa")
    assert (again.acquire(features).order == streamed.acquire(features).order).all()


def test_anything_that_streams_arrow_is_a_table(folder):
    pyarrow = pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("pyarrow.dataset")
    paths = sorted(map(str, folder.glob("part*.parquet")))
    expected = InformationTables.from_stream(paths, "y")

    class Relation:
        """What DuckDB's relations are to us: an object whose stream can be asked for again and again."""

        asked = 0

        def __arrow_c_stream__(self, requested_schema=None):
            self.asked += 1
            table = datasets.dataset(paths).to_table()
            return pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(100)).__arrow_c_stream__()

    dataset = datasets.dataset(paths)
    reader = pyarrow.RecordBatchReader.from_batches(dataset.schema, dataset.to_batches())
    names = open_source(paths).schema
    for source in (pl.scan_parquet(paths), dataset, dataset.to_table(), reader, Relation()):
        found = InformationTables.from_stream(source, "y")
        assert set(open_source(pl.scan_parquet(paths)).schema) == set(names)
        assert found.pair.tobytes() == expected.pair.tobytes(), type(source)
    with pytest.raises(SynafaError, match="A dict cannot be streamed"):
        open_source({"a": 1})


def test_nearly_numeric_and_spaced_cells_are_read_as_in_memory(tmp_path):
    lines = [f" {i % 17} ,{i % 5},{'TRUE' if i % 3 else 'false'},{i % 2}" for i in range(400)]
    lines[7] = "7,oops,TRUE,1"
    for i in range(2):
        (tmp_path / f"p{i}.csv").write_text("\n".join(["s,n,t,y", *lines[200 * i : 200 * i + 200]]) + "\n")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "all.csv").write_text("\n".join(["s,n,t,y", *lines]) + "\n")
    with pytest.warns(UserWarning, match="but for 1 cell"):
        features, labels = split_target(read_table(tmp_path / "all" / "all.csv", as_text=("y",)), "y")
    with pytest.warns(UserWarning, match="but for 1 cell"):
        found = stream_counts(str(tmp_path / "p*.csv"), "y")
    assert_same(found, SynAFA().fit(features, labels), labels, 2)


@pytest.mark.parametrize("n_passes", [1, 2])
def test_an_interrupted_count_goes_on_from_its_checkpoint(folder, tmp_path, monkeypatch, n_passes):
    if n_passes == 2:
        monkeypatch.setattr(opened, "MOST_BYTES", 100)
    checkpoint = tmp_path / "state"
    paths = sorted(folder.glob("part*.parquet"))
    monkeypatch.setattr("synafa.stream.sources.BATCH_CELLS", 1)
    monkeypatch.setattr("synafa.stream.sources.max", lambda *a: 25, raising=False)
    expected = stream_counts(paths, "y")
    assert expected.passes == n_passes
    for stop in (2, 10, 17) if n_passes == 1 else (2, 10, 17, 25, 33):
        batches = 0

        def interrupt(stage, stop=stop):
            nonlocal batches
            batches += 1
            if batches == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stream_counts(paths, "y", checkpoint=checkpoint, every=0.0, progress=interrupt)
        assert checkpoint.exists()
        with pytest.raises(SynafaError, match="belongs to other data or settings"):
            stream_counts(paths, "y", n_bins=3, checkpoint=checkpoint)
        rest = []
        found = stream_counts(paths, "y", checkpoint=checkpoint, progress=rest.append)
        assert len(rest) == 18 * n_passes - stop, "rows before the checkpoint are not read again"
        assert found.counts.to_bytes() == expected.counts.to_bytes()
        assert found.edges.tobytes() == expected.edges.tobytes()
        assert (found.codes == expected.codes).all()
        assert (found.y == expected.y).all()
        assert not checkpoint.exists()
    checkpoint.write_bytes(b"nonsense")
    with pytest.raises(SynafaError, match="is not a checkpoint"):
        stream_counts(paths, "y", checkpoint=checkpoint)
