"""Counting while the edges are not yet known: one pass over the data where two would otherwise be needed.

Every column has a provisional edge inside the bracket that will turn out to hold the right one. A row whose value lies
outside the bracket has its code for good; a row with a value inside is counted by the provisional edge, and is kept:
its codes, and the values that are open. When the edges are known, the kept rows whose codes change are taken out of the
counts and counted again. As brackets close, most kept rows turn out to be right and are forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.information.counts import PairCounts
from synafa.information.labels import rows_by_class
from synafa.stream.columns import Coder, NumberColumn, numbers_of
from synafa.stream.counting import Counter, Pool, compiled_threads, each, same
from synafa.stream.room import Room

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 1 << 28  # of kept rows and values; a table that needs more is counted in a pass of its own
_CELL = 17  # bytes of a kept value with its row, column and code


class Window:
    """Where the edges of one column of numbers may still lie, and the provisional ones.

    coder : provisional edges
    open : whether the edges may move inside the brackets; otherwise they are given, or a good guess
    fill : the code of an empty cell
    """

    def __init__(self, record: NumberColumn, coder: Coder, fixed: bool, fill: int) -> None:
        self.record, self.coder, self.fill = record, coder, fill
        self.open = not fixed and self._inside(coder.edges) and _ascending(coder.edges)
        self._ends: list[tuple[float, float]] = []
        self._limits: dict[np.dtype[Any], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def _inside(self, edges: np.ndarray) -> bool:
        return all(rank.low <= edge <= rank.high for rank, edge in zip(self.record.ranks, edges))

    def follow(self) -> None:
        """Move the provisional edges of brackets that have closed to the ranks as they stand."""
        ends = [(rank.low, rank.high) for rank in self.record.ranks]
        if ends == self._ends:
            return
        if self.open and self._ends:
            ranks = zip(self.coder.edges, ends, self._ends, self.record.ranks)
            moved = np.array([edge if now == before else rank.middle() for edge, now, before, rank in ranks])
            if _ascending(moved):
                self.coder = Coder(self.coder.column, moved)
            else:
                self.close()
        self._ends, self._limits = [(rank.low, rank.high) for rank in self.record.ranks], {}

    def restore(self, edges: np.ndarray, still_open: bool) -> None:
        """Continue with other provisional edges, from which the brackets have not moved."""
        self.coder, self.open = Coder(self.coder.column, edges), still_open
        self._ends, self._limits = [], {}

    def close(self) -> None:
        """The edges no longer move: what they are is a good guess, or too many rows would wait for them."""
        self.open, self._limits = False, {}

    def limits(self, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `read_column` compares values of a type with: limits, lows and single brackets, for each edge."""
        self.follow()
        if dtype not in self._limits:
            lows, highs = np.array(self._ends).T
            rows = [_at_most(self.coder.edges, dtype), _below(lows, dtype), _at_most(highs, dtype)]
            limits = np.ascontiguousarray(np.stack(rows, axis=1))
            self._limits[dtype] = limits, lows.copy() if self.open else np.full(len(lows), np.inf), lows == highs
        return self._limits[dtype]

    def right(self, coder: Coder) -> bool:
        """Whether every value outside the brackets has the code that these edges give it."""
        if not self.open:
            return same(self.coder, coder, self.record)
        return self._inside(coder.edges)


def _ascending(edges: np.ndarray) -> bool:
    """Whether every edge is above the one before; infinite ones are alike."""
    return bool((edges[1:] > edges[:-1]).all())


def _at_most(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The largest numbers of a type that are not above the values."""
    with np.errstate(over="ignore"):
        near = values.astype(dtype)
    return np.where(near.astype(np.float64) > values, np.nextafter(near, dtype.type(-np.inf)), near)


def _below(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The largest numbers of a type that are below the values."""
    with np.errstate(over="ignore"):
        near = values.astype(dtype)
    return np.where(near.astype(np.float64) >= values, np.nextafter(near, dtype.type(-np.inf)), near)


class KeptRows:
    """Rows with an open value: their provisional bits and classes, and which value of which column is open."""

    def __init__(self, n_planes: int) -> None:
        self.bits = np.zeros((0, -(-n_planes // 64)), np.uint64)
        self.classes: list[Any] = []
        self.y = np.zeros(0, np.int32)  # places in `classes`, which are in the order of their coming
        self.row, self.column, self.value = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        self.code = np.zeros(0, np.uint8)  # the provisional one
        self._waiting: list[tuple[np.ndarray, ...]] = []
        self.n_bytes = 0

    def add(
        self,
        bits: np.ndarray,
        labels: tuple[np.ndarray, np.ndarray],
        row: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        code: np.ndarray,
    ) -> None:
        """Add rows, with their classes and each row's place among them; `row` counts from the first of them."""
        distinct, places = labels
        self.classes += [label for label in distinct.tolist() if label not in self.classes]
        y = np.array([self.classes.index(label) for label in distinct.tolist()], np.int32)[places]
        self._waiting.append((bits, y, row, column, value, code))
        self.n_bytes += bits.nbytes + y.nbytes + _CELL * len(row)

    def gather(self) -> None:
        """Put what was added to the rest."""
        parts = [(self.bits, self.y, self.row, self.column, self.value, self.code), *self._waiting]
        first = np.cumsum([0, *(len(part[1]) for part in parts)])
        self.bits, self.y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        self.row = np.concatenate([part[2] + np.int32(start) for part, start in zip(parts, first)])
        self.column, self.value, self.code = (np.concatenate([part[i] for part in parts]) for i in (3, 4, 5))
        self._waiting = []

    def forget(self, settled: np.ndarray) -> None:
        """Drop some values, and the rows that have none left."""
        for name in ("row", "column", "value", "code"):
            setattr(self, name, getattr(self, name)[~settled])
        used = np.zeros(len(self.y), bool)
        used[self.row] = True
        self.row = (np.cumsum(used) - 1)[self.row].astype(np.int32)
        self.bits, self.y = self.bits[used], self.y[used]
        self.n_bytes = self.bits.nbytes + self.y.nbytes + _CELL * len(self.row)

    def codes(self, rows: np.ndarray, n_features: int, width: int) -> np.ndarray:
        """Provisional codes of some rows, uint8 (rows, D)."""
        bits = np.unpackbits(self.bits[rows].view(np.uint8), axis=1, bitorder="little")[:, : n_features * width]
        weights = np.arange(1, width + 1, dtype=np.uint8)
        return (bits.reshape(len(rows), n_features, width) * weights).sum(axis=2, dtype=np.uint8)


class OpenCounter(Counter):
    """Counts by provisional edges, which `settle` makes right.

    Parameters
    ----------
    records : what each column is found to be; their brackets close while rows are counted
    coders : provisional ones
    fixed : whether the edges of a column are given and do not move
    missing : whether cells are known to be empty; one that turns up elsewhere cannot be made right
    """

    def __init__(
        self, records: Sequence[Any], coders: Sequence[Coder], n_bins: int, fixed: Sequence[bool], missing: bool
    ) -> None:
        super().__init__(coders, n_bins, 0, missing)
        self.records = list(records)
        self.windows = [
            Window(record, coder, still, self.fill) if isinstance(record, NumberColumn) else None
            for record, coder, still in zip(records, coders, fixed)
        ]
        self.kept_rows = KeptRows(len(self.coders) * self.width)
        self.given_up = False
        self.rooms: list[Room] = []
        self._mine = threading.local()

    def learn(self, frame: pl.DataFrame, labels: Any, where: str, first: int, pool: Pool | None) -> None:
        """Add a batch: to what is known of the columns, and to the counts."""
        from synafa.stream.kernels import bits as kernels

        classes, indices = labels
        width, n_words = self.width, -(-frame.height // 64)
        few = len(classes) <= kernels.FEW_CLASSES
        order = None
        if few:
            masks, moves = kernels.class_moves(indices, len(classes))
            starts = class_starts(np.bincount(indices, minlength=len(classes)))
        else:
            order, starts = rows_by_class(indices, len(classes))
        planes = np.empty((len(self.coders) * width, n_words), np.uint64)
        grouped = np.empty((len(self.coders) * width, starts[-1]), np.uint64)
        for room in self.rooms:
            room.clear()

        def one(j: int) -> None:
            mine, window = planes[j * width : (j + 1) * width], self.windows[j]
            series, record = frame.to_series(j), self.records[j]
            if window is None:
                record.update(series, where, first)
                coder = self.coders[j]
                kernels.code_column(coder.values(series), coder.edges, self.fill, mine)
            else:
                if self.missing:
                    mine[-1] = 0
                record.look(numbers_of(series), window, where, first, mine, self._room(), j)

        each(pool, one, len(self.coders))
        if few:
            kernels.by_class_few(planes, masks, moves, starts, grouped)
        else:
            kernels.by_class_many(planes, order, grouped)
        with compiled_threads(grouped):
            self.add(classes, grouped, starts, np.bincount(indices, minlength=len(classes)))
        if not self.given_up:
            self._keep(planes, labels)

    def _room(self) -> Room:
        """The room of this thread."""
        found: Room | None = getattr(self._mine, "room", None)
        if found is None:
            found = self._mine.room = Room()
            self.rooms.append(found)
        return found

    def _keep(self, planes: np.ndarray, labels: tuple[np.ndarray, np.ndarray]) -> None:
        from synafa.stream.kernels.bits import rows_of

        there = [room.found() for room in self.rooms if room.n_open]
        if not there:
            return
        row, column, value, code = (np.concatenate(parts) for parts in zip(*there))
        marked = np.zeros(len(labels[1]), bool)
        marked[row] = True
        wanted = np.flatnonzero(marked)
        place = np.cumsum(marked, dtype=np.int32) - np.int32(1)
        bits = np.empty((len(wanted), self.kept_rows.bits.shape[1]), np.uint64)
        rows_of(planes, wanted, bits)
        self.kept_rows.add(bits, (labels[0], labels[1][wanted]), place[row], column, value, code)
        if self.kept_rows.n_bytes > MOST_BYTES:
            self.prune()
            if self.kept_rows.n_bytes > MOST_BYTES * 3 // 4:
                self.kept_rows, self.given_up = KeptRows(len(planes)), True

    def prune(self) -> None:
        """Forget values outside their brackets as they are by now, if the code they got is the one they will have."""
        kept, width = self.kept_rows, self.n_bins - 1
        kept.gather()
        least, most = np.full((2, len(self.coders), width), np.inf)
        for j, window in enumerate(self.windows):
            if window is not None:
                for rank in window.record.ranks:
                    rank.gather()
                least[j], most[j] = np.array([(rank.low, rank.high) for rank in window.record.ranks]).T
        value = kept.value[:, None]
        over = value > most[kept.column]
        outside = (over | (value <= least[kept.column])).all(axis=1)
        kept.forget(outside & (over.sum(axis=1) == kept.code))

    def settle(self, coders: list[Coder]) -> bool:
        """Make the counts those of the right edges; False, and nothing is changed, where that cannot be done."""
        if self.given_up or self.counts is None:
            return False
        if not self.missing and any(record.missing for record in self.records):
            return False
        for window, old, new, record in zip(self.windows, self.coders, coders, self.records):
            if not (same(old, new, record) if window is None else window.right(new)):
                return False
        kept = self.kept_rows
        kept.gather()
        edges = np.stack([coder.edges for coder in coders])
        right = np.zeros(len(kept.value), np.uint8)
        for b in range(self.n_bins - 1):
            right += kept.value > edges[:, b][kept.column]
        wrong = right != kept.code
        if wrong.any():
            rows, place = np.unique(kept.row[wrong], return_inverse=True)
            labels = np.asarray(kept.classes, dtype=self.counts.classes.dtype)[kept.y[rows]]
            codes = kept.codes(rows, len(coders), self.width)
            for sign in (-1, 1):
                part = self.no_counts(self.counts.classes).update(codes, labels)
                self.counts.plane_counts += sign * part.plane_counts
                self.counts.joint += sign * part.joint
                codes[place, kept.column[wrong]] = right[wrong]
        self.coders = coders
        return True

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON values and arrays for a checkpoint."""
        kept = self.kept_rows
        kept.gather()
        arrays = {name: getattr(kept, name) for name in _ARRAYS}
        edges = []
        for window, coder in zip(self.windows, self.coders):
            if window is not None:
                window.follow()
            edges.append(coder.edges if window is None else window.coder.edges)
        arrays["edges"] = np.stack(edges)
        if self.counts is not None:
            arrays["counts"] = np.frombuffer(self.counts.to_bytes(), np.uint8)
        open_ones = [window is not None and window.open for window in self.windows]
        return {"open": open_ones, "given_up": self.given_up, "classes": kept.classes}, arrays

    def from_state(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint, with the same guessed coders and with restored records."""
        kept = self.kept_rows = KeptRows(len(self.coders) * self.width)
        for name in _ARRAYS:
            setattr(kept, name, arrays[name])
        kept.classes, self.given_up = list(meta["classes"]), meta["given_up"]
        kept.forget(np.zeros(len(kept.row), bool))
        for window, edges, still_open in zip(self.windows, arrays["edges"], meta["open"]):
            if window is not None:
                window.restore(edges, still_open)
        if "counts" in arrays:
            self.counts = PairCounts.from_bytes(arrays["counts"].tobytes())


_ARRAYS = ("bits", "y", "row", "column", "value", "code")


def class_starts(sizes: np.ndarray) -> np.ndarray:
    """The first word of each class, as `rows_by_class` places them."""
    from synafa.information.kernels.counts import WORDS

    return np.concatenate([[0], WORDS * np.cumsum(-(-sizes // (64 * WORDS)))])
