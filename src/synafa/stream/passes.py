"""A stream to exact pair counts, in one pass where a sample says well enough where the edges lie.

Rows are counted by provisional edges while the right ones are still looked for, and what was counted wrong is put right
at the end (`opened`). Where that fails (the sample misled, rows come in an order, too much is open, a cell is empty and
none was in the sample), further passes look for the edges and a last one counts. Either way the numbers are those of
the whole table in memory, to the last bit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import content_hash
from synafa.information.codes import MAX_BINS
from synafa.information.counts import PairCounts, check_memory
from synafa.stream.batches import Batch
from synafa.stream.checkpoint import Checkpoint
from synafa.stream.columns import Coder, NumberColumn, column_of, numbers_of
from synafa.stream.counting import KEPT_ROWS, Counter, Pool, each, first_rows
from synafa.stream.labels import Labels
from synafa.stream.opened import OpenCounter
from synafa.stream.progress import Report, Stage
from synafa.stream.sources import Source, ahead, open_source
from synafa.stream.state import FORMAT, Position, load_state, save_state
from synafa.table.encoder import TableEncoder
from synafa.table.names import close_names

SAMPLE = 1 << 15  # rows that say where edges probably are


@dataclass(frozen=True, eq=False)
class Streamed:
    """What a stream was turned into.

    Attributes
    ----------
    encoder : the fitted columns; edges : float64 (D, n_bins - 1); counts : exact counts of all pairs, classes in order
    codes, y : codes and class places of the first rows
    passes : how often the data were read
    missing : empty cells of each column, where they were counted
    rank_error : largest share of a column's rows on another side of an edge than exact quantiles would put them (0 for
        exact edges; NaN for given ones)
    """

    encoder: TableEncoder
    edges: np.ndarray
    counts: PairCounts
    codes: np.ndarray
    y: np.ndarray
    passes: int
    rank_error: float
    missing: tuple[int, ...] = ()


def stream_counts(
    source: Any,
    target: str,
    *,
    n_bins: int = 2,
    drop: Sequence[str] = (),
    edges: Any = "exact",
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    progress: Report | None = None,
    keep: int = KEPT_ROWS,
) -> Streamed:
    """Count all pairs of a table that is read batch by batch.

    Parameters
    ----------
    source : files, a folder, a pattern, a Polars frame, or anything that streams Arrow batches
    target : the column that holds the class
    n_bins : 2 to 16 codes a column
    drop : columns to leave out
    edges : "exact", "sample" (from a sample of the rows; the result says by how much that is off), or given: an array
        (D, n_bins - 1), or by name what `exact` does not have to find
    checkpoint : a file from which an interrupted count goes on
    every : seconds between two checkpoints
    progress : called with a `Stage` after every batch

    Raises
    ------
    SynafaError
        For a part that cannot be read or does not fit to the others, a missing label, a column of neither numbers nor
        text, an infinite value.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [0, 1, 1, 0]})
    >>> found = stream_counts([table[:1], table[1:]], "y")
    >>> found.counts.cells(0, 1)[0].tolist(), found.edges.tolist()
    ([[1, 0], [0, 1]], [[0.5], [0.5]])
    """
    if not isinstance(n_bins, int | np.integer) or not 2 <= n_bins <= MAX_BINS:
        raise SynafaError(f"n_bins must be a whole number from 2 to {MAX_BINS}, got: {n_bins!r}.")
    table = open_source(source, as_text=(target,))
    run = _Run(table, target, int(n_bins), tuple(drop), edges, checkpoint, every, progress, keep)
    return run.streamed()


class _Run:
    """One stream from the first pass to the last."""

    def __init__(
        self,
        table: Source,
        target: str,
        n_bins: int,
        drop: tuple[str, ...],
        edges: Any,
        checkpoint: str | os.PathLike[str] | None,
        every: float,
        progress: Report | None,
        keep: int,
    ) -> None:
        self.table, self.n_bins, self.progress, self.keep = table, n_bins, progress, keep
        self.names = feature_names(table.schema, target, drop)
        self.labels = Labels(target, {name: table.schema[name] for name in table.schema if name not in drop})
        check_memory(len(self.names), n_bins, 2)  # at least; before anything is read
        self.given = _given(edges, self.names, n_bins)
        self.exact = not (isinstance(edges, str) and edges == "sample")
        shape = [list(map(str, table.schema.values())), target, self.names, n_bins, str(edges)[:1000], keep, FORMAT]
        self.checkpoint = Checkpoint(checkpoint, content_hash([table.identity, shape]), every)
        self.place = Position("first", 1, 0, 0, 0)
        self.pace = _Pace()
        self.total = table.n_rows
        self.counter: Counter | None = None
        self.opened: OpenCounter | None = None
        self.guessed: list[Coder] = []
        sample = table.sample(self.names, SAMPLE)
        self.records = [column_of(n, table.schema[n], n_bins, len(self.names), sample[n]) for n in self.names]
        self._guess(sample)

    def _guess(self, sample: Any) -> None:
        """Coders from the sample alone, and a counter that begins with them."""
        fixed, missing = [], False
        for record in self.records:
            one = record.empty()
            if isinstance(one, NumberColumn):
                values = numbers_of(sample[record.name])
                one.add(values[~np.isinf(values)], "the sample", 0)
            else:
                one.update(sample[record.name], "the sample", 0)
            missing |= one.missing > 0
            column, edges = one.finished()
            edges = self.given.get(record.name, edges)
            if edges is None:
                return
            few = isinstance(one, NumberColumn) and one.n_few <= self.n_bins
            fixed.append(few or not self.exact or record.name in self.given)
            self.guessed.append(Coder(column, edges))
        self.opened = OpenCounter(self.records, self.guessed, self.n_bins, fixed, missing)

    def streamed(self) -> Streamed:
        """All passes that are needed."""
        saved = self.checkpoint.read()
        if saved is not None:
            self.place = load_state(self, *saved)
        with _threads(self.pace) as pool:
            if self.place.stage == "first":
                self._first_pass(pool)
            if self.place.stage == "edges":
                self._edge_passes(pool)
            if self.place.stage == "count":
                self._count_pass(pool)
        counter = self.counter
        assert counter is not None
        assert counter.counts is not None
        if len(counter.counts.classes) < 2:
            only = str(counter.counts.classes[0])
            raise SynafaError(f"All rows are of one class ({only!r}); there is nothing to tell apart.")
        if isinstance(counter, OpenCounter):
            codes, y = first_rows(
                self.table, self.names, self.labels, counter.coders, counter.counts.classes, self.keep
            )
        else:
            codes, y = counter.first_rows()
        encoder = TableEncoder()
        encoder.columns_ = tuple(coder.column for coder in counter.coders)
        edges = np.stack([coder.edges for coder in counter.coders])
        self.checkpoint.remove()
        missing = tuple(record.missing for record in self.records)
        error = self._rank_error(counter)
        return Streamed(encoder, edges, counter.counts, codes, y, self.place.number, error, missing)

    def _first_pass(self, pool: Pool | None) -> None:
        """Learn the columns, and count by provisional edges."""

        def learn(batch: Batch) -> None:
            labels = self.labels.read(batch.frame.to_series(len(self.records)), batch.where, batch.first)
            if self.opened is not None:
                self.opened.learn(batch.frame, labels, batch.where, batch.first, pool)
                assert self.opened.counts is not None
                self.labels.check(len(self.opened.counts.classes))
                return

            def one(j: int) -> None:
                self.records[j].update(batch.frame.to_series(j), batch.where, batch.first)

            each(pool, one, len(self.records))

        self._run("reading and counting" if self.opened else "looking for edges", learn)
        self.total = self.place.rows
        if not self.total:
            raise SynafaError("The table has no rows; at least 1 sample is required.")
        coders = self._coders()
        if coders is None:
            self.opened = None
            self._next("edges")
        elif self.opened is not None and self.opened.settle(coders):
            self.counter = self.opened
            self.place = Position("done", self.place.number, 0, 0, self.total)
        else:
            self._begin_counting(coders)

    def _edge_passes(self, pool: Pool | None) -> None:
        """Passes that only look for edges, until all are known."""
        while True:

            def look(batch: Batch) -> None:
                def one(j: int) -> None:
                    record = self.records[j]
                    if isinstance(record, NumberColumn):
                        record.again(numbers_of(batch.frame.to_series(j)))

                each(pool, one, len(self.records))

            self._run("looking for edges", look)
            coders = self._coders()
            if coders is not None:
                return self._begin_counting(coders)
            self._next("edges")

    def _begin_counting(self, coders: list[Coder]) -> None:
        self.opened = None
        self.counter = Counter(coders, self.n_bins, self.keep, any(record.missing for record in self.records))
        self._next("count")

    def _count_pass(self, pool: Pool | None) -> None:
        nothing = [None] * len(self.names)

        def count(batch: Batch) -> None:
            assert self.counter is not None
            labels = self.labels.read(batch.frame.to_series(len(self.names)), batch.where, batch.first)
            self.counter.update(nothing, batch.frame, labels, pool)
            assert self.counter.counts is not None
            self.labels.check(len(self.counter.counts.classes))

        self._run("counting", count)

    def _coders(self) -> list[Coder] | None:
        """Coders from what the passes found; None when an edge is still open."""
        coders: list[Coder] = []
        open_edge = False
        for j, record in enumerate(self.records):
            column, edges = record.finished()
            if record.name in self.given:
                edges = self.given[record.name]
            elif not self.exact and isinstance(record, NumberColumn):
                edges = self.guessed[j].edges
            open_edge |= edges is None
            if edges is not None:
                coders.append(Coder(column, edges))
        return None if open_edge else coders

    def _run(self, name: str, work: Any) -> None:
        """One pass from where it stands; work is called with every batch."""
        began, before = time.monotonic(), self.place.rows
        columns = [*self.names, self.labels.target]
        batches = ahead(self.table.batches(columns, part=self.place.part, first=self.place.first, together=True))
        for batch in self.pace.watch(batches):
            work(batch)
            done = batch.frame.height
            self.place = Position(
                self.place.stage, self.place.number, batch.part, batch.first + done, self.place.rows + done
            )
            if self.checkpoint.due():
                self.checkpoint.write(*save_state(self))
            if self.progress is not None:
                share = self.place.rows / self.total if self.total else None
                seconds = time.monotonic() - began
                paced = seconds * self.place.rows / max(1, self.place.rows - before)
                self.progress(Stage(f"pass {self.place.number}, {name}", self.place.rows, self.total, share, paced))

    def _next(self, stage: str) -> None:
        self.place = Position(stage, self.place.number + 1, 0, 0, 0)

    def _rank_error(self, counter: Counter) -> float:
        """How far edges of a sample are off: rows between them and the exact ones, where those are known."""
        if self.given:
            return float("nan")
        if self.exact:
            return 0.0
        assert counter.counts is not None
        codes = counter.counts.code_counts().sum(axis=0)[:, : self.n_bins]
        upto = np.cumsum(codes, axis=1)[:, :-1] / np.maximum(codes.sum(axis=1, keepdims=True), 1)
        worst = 0.0
        for j, record in enumerate(self.records):
            if isinstance(record, NumberColumn):
                exact = record.finished()[1]
                for i, edge in enumerate(counter.coders[j].edges):
                    wanted = (i + 1) / self.n_bins
                    found = None if exact is None else _off(edge, exact[i], record, i)
                    worst = max(worst, abs(upto[j, i] - wanted) if found is None else found)
        return worst


def _off(edge: float, exact: float, record: NumberColumn, i: int) -> float | None:
    """The share of rows between two edges; None when it is not known."""
    if edge == exact:
        return 0.0
    rank, low, high = record.ranks[i], min(edge, exact), max(edge, exact)
    if rank.histogram is not None or not (rank.low <= low and high <= rank.high):
        return None
    return float(rank.counts[(rank.values > low) & (rank.values <= high)].sum()) / max(1, record.n)


def feature_names(schema: Mapping[str, Any], target: str, drop: Sequence[str]) -> list[str]:
    """The columns that are features: all but the target and those to leave out."""
    for name in drop:
        if name not in schema:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, list(schema))}.")
        if name == target:
            raise SynafaError(f"The target {target!r} cannot be dropped.")
    names = [name for name in schema if name != target and name not in set(drop)]
    if target in schema and not names:
        raise SynafaError(f"The table has no column beside the target {target!r}.")
    return names


def _given(edges: Any, names: list[str], n_bins: int) -> dict[str, np.ndarray]:
    """Edges that the caller knows, by name."""
    if isinstance(edges, str):
        if edges not in ("exact", "sample"):
            raise SynafaError(f"edges must be 'exact', 'sample' or an array of edges, got: {edges!r}.")
        return {}
    if isinstance(edges, Mapping):
        unknown = [name for name in edges if name not in names]
        if unknown:
            raise SynafaError(
                f"Edges are given for the unknown feature {unknown[0]!r}{close_names(unknown[0], names)}."
            )
        found = {str(name): np.asarray(row, dtype=np.float64).ravel() for name, row in edges.items()}
    else:
        array = np.asarray(edges, dtype=np.float64)
        if array.shape != (len(names), n_bins - 1):
            raise SynafaError(f"edges must have the shape {(len(names), n_bins - 1)}, got: {array.shape}.")
        found = dict(zip(names, array))
    for name, row in found.items():
        padded = np.concatenate([row, np.full(max(0, n_bins - 1 - len(row)), np.inf)])
        if len(row) > n_bins - 1 or np.isnan(row).any() or (padded[1:] < padded[:-1]).any():
            raise SynafaError(f"The edges of {name!r} must be at most {n_bins - 1} ascending numbers.")
        found[name] = padded
    return found


class _Pace:
    """Whether reading or counting is the slower one; only then do more threads than one count.

    Polars reads with as many threads as there are cores, and threads that wait for each other cost time.
    """

    def __init__(self) -> None:
        self.reading = self.counting = 0.0

    def watch(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches, with the time it took to wait for them and to use them."""
        while True:
            began = time.monotonic()
            batch = next(batches, None)
            came = time.monotonic()
            self.reading += came - began
            if batch is None:
                return
            yield batch
            self.counting += time.monotonic() - came

    def behind(self) -> bool:
        """Whether counting hardly ever waits."""
        return self.counting > 8 * self.reading


@contextmanager
def _threads(pace: _Pace) -> Iterator[Pool | None]:
    """As many threads as compiled code uses, for when they are needed; none at all for one."""
    from numba import get_num_threads

    if get_num_threads() == 1:
        yield None
    else:
        with ThreadPoolExecutor(get_num_threads()) as pool:
            yield Pool(pool, get_num_threads(), pace.behind)
