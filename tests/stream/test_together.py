"""Several Parquet files read as one: rows and places as of one after the other, and the damaged one named."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from synafa.errors import SynafaError
from synafa.stream import sources
from synafa.stream.sources import open_source

pytestmark = pytest.mark.slow


def written(folder, sizes, seed=0, **options):
    """Files of some sizes in a folder, rows numbered through."""
    rng, first = np.random.default_rng(seed), 0
    for number, n in enumerate(sizes):
        frame = pl.DataFrame({"n": np.arange(first, first + n), "x": rng.normal(size=n), "y": rng.integers(0, 2, n)})
        frame.write_parquet(folder / f"{number}.parquet", **options)
        first += n
    return open_source(folder)


def rows_of(source, **options):
    """File, row in it and number of every row, from the places that batches say."""
    found = []
    for batch in source.batches(["n"], **options):
        assert batch.where == source.names[batch.part]
        found += [(batch.part, batch.first + i, n) for i, n in enumerate(batch.frame["n"].to_list())]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_places_are_those_of_one_file_after_the_other(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(sources, "BATCH_CELLS", 1024)
    rng = np.random.default_rng(seed)
    sizes = rng.choice([0, 1, 7, 700, 3000, 5000], rng.integers(2, 6)).tolist()
    source = written(tmp_path, [*sizes, 10], row_group_size=int(rng.choice([100, 2500])))
    part = int(rng.integers(len(sizes)))
    first = int(rng.integers(sizes[part] + 1))
    one_by_one = rows_of(source, part=part, first=first)
    assert rows_of(source, part=part, first=first, together=True) == one_by_one
    assert len(one_by_one) == sum(sizes[part:]) + 10 - first


def test_files_of_other_types_are_not_joined(tmp_path):
    written(tmp_path, [10, 10])
    pl.read_parquet(tmp_path / "1.parquet").with_columns(pl.col("x").cast(pl.Float32)).write_parquet(
        tmp_path / "1.parquet"
    )
    source = open_source(tmp_path)
    assert source.joined is None
    assert [n for *_, n in rows_of(source, together=True)] == list(range(20))


def damage(path):
    """Zeros in the middle of the column pages; the footer stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 4 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 4)
    path.write_bytes(data)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_damaged_file_is_named(tmp_path, which):
    source = written(tmp_path, [60_000] * 3, row_group_size=10_000)
    damage(tmp_path / f"{which}.parquet")
    with pytest.raises(SynafaError, match=rf"{which}\.parquet"):
        list(source.batches(together=True))


def test_rows_that_are_lost_on_the_way_are_noticed(tmp_path):
    source = written(tmp_path, [100, 100, 100])
    whole, source.joined = source.joined, lambda first: pl.concat([source.parts[0](), source.parts[2]()])
    with pytest.raises(SynafaError, match="cannot be read to their end together"):
        list(source.batches(together=True))
    source.joined = lambda first: pl.concat([part() for part in [*source.parts, source.parts[0]]])
    with pytest.raises(SynafaError, match="cannot be read to their end together"):
        list(source.batches(together=True))
    source.joined = whole
    assert len(rows_of(source, together=True)) == 300


def test_what_cannot_be_joined_is_read_one_by_one(tmp_path):
    source = written(tmp_path, [100, 100])
    source.joined = lambda first: pl.scan_parquet(tmp_path / "gone.parquet")
    assert len(rows_of(source, together=True)) == 200
