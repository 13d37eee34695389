"""What a worker of a cluster does with a part of a table: learn its columns, or count a tile of them; and merging.

Everything that travels is bytes with a checksum; the part is read by the same code as on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.counts import PairCounts
from synafa.information.exchange import pack_arrays, unpack_arrays
from synafa.stream.columns import Coder, NumberColumn, TextColumn, numbers_of
from synafa.stream.counting import Counter
from synafa.stream.labels import Labels
from synafa.stream.quantiles import restore
from synafa.stream.sources import Source, open_source
from synafa.table.encoder import TableEncoder

Part = tuple[int, int, int | None]
Tile = tuple[int, int, int, int]


@dataclass(frozen=True)
class Job:
    """Which files, which columns, how many bins."""

    paths: list[str]
    names: list[str]
    target: str
    n_bins: int


def learn(job: Job, part: Part, tile: Any, shared: bytes) -> bytes:
    """What a part says about every column."""
    with _Named():
        table = _table(job)
        _, meta = unpack_arrays("part", shared)
        records, _ = unpack_records(shared, job, table, empty=True)
        labels: dict[Any, int] = {}
        reader = Labels(job.target, table.schema)
        for frame, where, first in _frames(table, part, [*job.names, job.target]):
            for j, record in enumerate(records):
                series = frame.to_series(j)
                if meta["first"]:
                    record.update(series, where, first)
                elif isinstance(record, NumberColumn):
                    record.again(numbers_of(series))
            classes, places = reader.read(frame.to_series(len(records)), where, first)
            for label, count in zip(classes.tolist(), np.bincount(places, minlength=len(classes)).tolist()):
                labels[label] = labels.get(label, 0) + count
        return pack_records(records, first=meta["first"], labels=labels)


def count(job: Job, part: Part, tile: Tile, shared: bytes) -> bytes:
    """The counts of a tile of columns in a part."""
    with _Named():
        table = _table(job)
        every, missing = unpack_coders(shared)
        columns = sorted({*range(tile[0], tile[1]), *range(tile[2], tile[3])})
        coders = [every[j] for j in columns]
        counter = Counter(coders, job.n_bins, missing=missing)
        names = [job.names[j] for j in columns]
        reader = Labels(job.target, table.schema)
        for frame, where, first in _frames(table, part, [*names, job.target]):
            labels = reader.read(frame.to_series(len(names)), where, first)
            counter.update([None] * len(names), frame, labels)
        arrays: dict[str, np.ndarray] = {}
        if counter.counts is not None:
            arrays["tile-" + "-".join(map(str, tile))] = np.frombuffer(counter.counts.to_bytes(), np.uint8)
        return pack_arrays("part", arrays, {"kind": "counts"})


def merge(one: bytes, other: bytes) -> bytes:
    """Two results as one."""
    (mine, meta), (theirs, more) = unpack_arrays("part", one), unpack_arrays("part", other)
    if meta["kind"] == "counts":
        for name, data in theirs.items():
            if name in mine:
                total = PairCounts.from_bytes(mine[name].tobytes()).merge(PairCounts.from_bytes(data.tobytes()))
                mine[name] = np.frombuffer(total.to_bytes(), np.uint8)
            else:
                mine[name] = data
        return pack_arrays("part", mine, meta)
    records, added = _records(mine, meta), _records(theirs, more)
    for record, part in zip(records, added):
        if meta["first"]:
            record.merge(part)  # type: ignore[arg-type]
        elif isinstance(record, NumberColumn) and isinstance(part, NumberColumn):
            for rank, seen in zip(record.ranks, part.ranks):
                if rank.known is None:
                    rank.merge(seen)
    labels = dict(meta["labels"])
    for label, count in more["labels"]:
        labels[label] = labels.get(label, 0) + count
    return pack_records(records, first=meta["first"], labels=labels)


def together(results: list[bytes]) -> bytes:
    """The results of different tiles as one."""
    arrays: dict[str, np.ndarray] = {}
    meta: dict[str, Any] = {}
    for data in results if len(results) > 1 else ():
        more, meta = unpack_arrays("part", data)
        arrays |= more
    return pack_arrays("part", arrays, meta) if arrays else results[0]


def assemble(data: bytes, n_features: int, n_bins: int) -> PairCounts:
    """The counts of all pairs from those of the tiles."""
    arrays, _ = unpack_arrays("part", data)
    tiles = {tuple(map(int, name.split("-")[1:])): PairCounts.from_bytes(a.tobytes()) for name, a in arrays.items()}
    if not tiles:
        raise SynafaError("The table has no rows; at least 1 sample is required.")
    one = next(iter(tiles.values()))
    total = PairCounts(n_features, n_bins, one.classes, one.missing)
    width = total.n_codes - 1
    for (a0, a1, b0, b1), part in tiles.items():
        columns = sorted({*range(a0, a1), *range(b0, b1)})
        places = np.concatenate([np.arange(j * width, (j + 1) * width) for j in columns])
        total.class_counts = part.class_counts
        total.plane_counts[:, places] = part.plane_counts
        total.joint[:, places[:, None], places[None, :]] = part.joint
    return total


def pack_records(
    records: list[NumberColumn | TextColumn], *, first: bool, labels: dict[Any, int] | None = None
) -> bytes:
    """Columns' records as bytes; `first` says whether the pass learns everything or only looks for edges."""
    arrays: dict[str, np.ndarray] = {}
    states = []
    for j, record in enumerate(records):
        meta, own = record.to_state()
        kind = "number" if isinstance(record, NumberColumn) else "text"
        states.append({"name": record.name, "n_bins": record.n_bins, "kind": kind, **meta})
        arrays |= {f"{j}.{name}": array for name, array in own.items()}
    counted = sorted((labels or {}).items(), key=lambda item: str(item[0]))
    return pack_arrays("part", arrays, {"kind": "records", "first": first, "records": states, "labels": counted})


def _records(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> list[NumberColumn | TextColumn]:
    own: list[dict[str, np.ndarray]] = [{} for _ in meta["records"]]
    for key, array in arrays.items():
        j, _, name = key.partition(".")
        own[int(j)][name] = array.copy()
    records: list[NumberColumn | TextColumn] = []
    for state, mine in zip(meta["records"], own):
        record: NumberColumn | TextColumn
        if state["kind"] == "number":
            record = NumberColumn(state["name"], state["n_bins"], restore(state["ranks"], mine))
        else:
            record = TextColumn(state["name"], state["n_bins"])
        record.from_state(state, mine)
        records.append(record)
    return records


def unpack_records(
    data: bytes, job: Job, table: Source, empty: bool = False
) -> tuple[list[NumberColumn | TextColumn], dict[Any, int]]:
    """The records of `pack_records`; `empty` ones have brackets but have seen nothing, for a part to begin with."""
    arrays, meta = unpack_arrays("part", data)
    records = _records(arrays, meta)
    if empty and meta["first"]:
        records = [
            NumberColumn(r.name, r.n_bins, r.ranks) if isinstance(r, NumberColumn) else TextColumn(r.name, r.n_bins)
            for r in records
        ]
    return records, {label: count for label, count in meta["labels"]}


def pack_coders(coders: list[Coder], missing: bool) -> bytes:
    """Coders as bytes, and whether cells are empty."""
    encoder = TableEncoder()
    encoder.columns_ = tuple(coder.column for coder in coders)
    edges = np.stack([coder.edges for coder in coders])
    return pack_arrays("part", {"edges": edges}, {"columns": encoder.to_meta(), "missing": missing})


def unpack_coders(data: bytes) -> tuple[list[Coder], bool]:
    """What `pack_coders` packed."""
    arrays, meta = unpack_arrays("part", data)
    columns = TableEncoder.from_meta(meta["columns"]).columns_
    return [Coder(column, edges) for column, edges in zip(columns, arrays["edges"])], meta["missing"]


def write_part(frame: Any, folder: str, number: int) -> str:
    """A partition of a Dask DataFrame as a Parquet file."""
    import polars as pl

    path = Path(folder) / f"{number:06}.parquet"
    (frame if isinstance(frame, pl.DataFrame) else pl.from_pandas(frame)).write_parquet(path)
    return str(path)


def _table(job: Job) -> Source:
    return open_source(list(job.paths), as_text=(job.target,), tell=lambda notice: None)


def _frames(table: Source, part: Part, columns: list[str]) -> Any:
    """The frames of a part, where they come from, and their first rows."""
    number, first, rows = part
    for batch in table.batches(columns, part=number, first=first):
        if batch.part != number:
            return
        left = batch.frame.height if rows is None else first + rows - batch.first
        if left <= 0:
            return
        yield batch.frame.head(left), batch.where, batch.first


class _Named:
    """Says on which worker a sentence was said."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, SynafaError):
            try:
                from distributed import get_worker

                where = f" (on the worker at {get_worker().address})"
            except (ImportError, ValueError):
                where = ""
            raise SynafaError(f"{str(error).rstrip('.')}{where}.") from error
