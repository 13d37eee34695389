"""What one pass learns of each column: kinds, categories, exact means, missing cells, and where the edges lie.

A column's record takes batches in any order, and records of parts merge; `finished` says what the column would be had
the whole table been in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.stream.files import family
from synafa.stream.quantiles import Ranks, Summary, edges_of, restore, sample_brackets, state
from synafa.stream.room import Room
from synafa.table.encoder import Column, UnsupportedValueError
from synafa.table.numbers import SPACES
from synafa.table.sums import CHUNKS, add_sum_of_integers, carry, exact_mean

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 1 << 20
_MEMORY = 1 << 26  # bytes of kept values, over all columns
_WHOLE = {size: (kind, kind(np.iinfo(kind).max)) for size, kind in ((4, np.int32), (8, np.int64))}
_MANY = 4096  # rows of a batch that show how many values a bracket holds


def column_of(name: str, dtype: Any, n_bins: int, n_columns: int, sample: pl.Series) -> NumberColumn | TextColumn:
    """An empty record of a column of some type; the sample says where its quantiles probably are."""
    kind = family(dtype)
    if kind == "text":
        return TextColumn(name, n_bins)
    if kind != "number":
        if dtype.is_temporal():
            raise UnsupportedValueError(
                f"Column {name!r} holds dates or times; turn it into a number (days, hours) first."
            )
        raise UnsupportedValueError(f"Column {name!r} holds {dtype}; give numbers or text.")
    limit = int(np.clip(_MEMORY // (16 * n_columns * (n_bins - 1)), 1024, 1 << 16))
    values = numbers_of(sample)
    return NumberColumn(name, n_bins, sample_brackets(values[~np.isinf(values)], n_bins, limit))


def numbers_of(series: pl.Series) -> np.ndarray:
    """A column of numbers as an array of its own type, NaN (and then a float type) where cells are empty."""
    import polars as pl

    if type(series.dtype) in (pl.Float32, pl.Float64):  # asked first: it is the way of most columns of most batches
        return np.ascontiguousarray(series.rechunk().to_numpy())
    if series.dtype == pl.Boolean:
        series = series.cast(pl.UInt8)
    plain = series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count())
    if not plain or "128" in str(series.dtype):
        series = series.cast(pl.Float64)
    if series.dtype not in (pl.Float32, pl.Float64) and series.dtype.is_float():
        series = series.cast(pl.Float32)
    return np.ascontiguousarray(series.rechunk().to_numpy())


def texts_of(series: pl.Series) -> pl.Series:
    """A column of text without surrounding spaces; null where nothing is left."""
    import polars as pl

    text = series.cast(pl.String).str.strip_chars(SPACES)
    return text.set(text == "", None)


class NumberColumn:
    """The record of a column of numbers."""

    def __init__(self, name: str, n_bins: int, ranks: list[Ranks]) -> None:
        self.name, self.n_bins, self.ranks = name, n_bins, ranks
        self.n = self.missing = self.n_few = 0
        self.chunks = np.zeros(CHUNKS, np.int64)
        self.three = np.array([np.inf, -np.inf, -np.inf])  # the least, the second largest and the largest value
        self.few = np.zeros(n_bins + 1)
        self.bytes = np.zeros((2, 256), np.int64)  # how often each 8-bit number occurred, unsigned and signed

    def update(self, series: pl.Series, where: str, first: int) -> np.ndarray:
        """Add a batch; returns its numbers."""
        values = numbers_of(series)
        self.add(values, where, first)
        return values

    def add(self, values: np.ndarray, where: str, first: int) -> None:
        from synafa.stream.kernels import columns as kernels

        self.n += values.size
        if values.dtype.itemsize == 1:
            kernels.histogram_bytes(values.view(np.uint8), self.bytes[int(values.dtype.kind == "i")])
            return
        doubles = np.empty(values.size)
        there, odd = kernels.present(values, doubles)
        if odd >= 0:
            raise self._infinite(where, first + odd)
        self.missing += values.size - there
        self._add_present(doubles[:there])

    def look(
        self, values: np.ndarray, window: Any, where: str, first: int, planes: np.ndarray, room: Room, number: int
    ) -> None:
        """Add a batch and fill its bits by provisional edges; the room takes what is open of this column."""
        from synafa.stream.kernels.bits import read_column

        if values.dtype.kind != "f":
            values = values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)  # exact
        whole, sizes = _WHOLE[values.dtype.itemsize]
        room.prepare(len(self.ranks), values.size)
        limits, sums = window.limits(values.dtype), (self.chunks, self.three, self.few)
        missing, odd, n_open, self.n_few = read_column(
            values, values.view(whole), sizes, limits, window.fill, planes, room.arrays, room.n_open, sums, self.n_few
        )
        if odd >= 0:
            raise self._infinite(where, first + odd)
        self.n += values.size
        self.missing += missing
        there = values.size - missing
        for i, (rank, inside, above, many) in enumerate(zip(self.ranks, *room.told.tolist())):
            if rank.low == rank.high:
                rank.add_equal(there - above, there, inside)
            else:
                rank.add_inside(there - above, there, room.kept[i, :inside].copy())
            if values.size >= _MANY and many > values.size // 8:
                window.close()  # ties: too many rows would wait for the edge
        if window.open:
            room.note(number, n_open)

    def _infinite(self, where: str, row: int) -> SynafaError:
        return SynafaError(
            f"Column {self.name!r} holds infinity in row {row + 1} of {where}; leave the cell empty or give a finite "
            "number."
        )

    def _add_present(self, doubles: np.ndarray) -> None:
        from synafa.stream.kernels import columns as kernels

        kernels.add_sum(self.chunks, doubles)
        kernels.extremes(doubles, self.three)
        self.n_few = kernels.distinct(doubles, self.few, self.n_few)
        for rank in self.ranks:
            rank.update(doubles)

    def empty(self) -> NumberColumn:
        """A record of nothing, with the same brackets."""
        return NumberColumn(self.name, self.n_bins, [Ranks(r.low, r.high, r.share, 1 << 16) for r in self.ranks])

    def flush(self) -> None:
        """Enter the 8-bit numbers, which were only counted, where the others are."""
        from synafa.stream.kernels import columns as kernels

        for counts, kind in zip(self.bytes, (np.uint8, np.int8)):
            if counts.any():
                numbers = np.arange(256, dtype=np.uint8).view(kind).astype(np.int64)
                order = np.argsort(numbers)
                numbers, often = numbers[order], counts[order]
                doubles, often = numbers[often > 0].astype(np.float64), often[often > 0]
                add_sum_of_integers(self.chunks, np.int64((numbers * counts[order]).sum()))
                kernels.extremes(doubles, self.three)
                self.n_few = kernels.distinct(doubles, self.few, self.n_few)
                for rank in self.ranks:
                    rank.add_counted(doubles, often)
        self.bytes[:] = 0

    def merge(self, other: NumberColumn) -> None:
        """Add what another part saw."""
        from synafa.stream.kernels import columns as kernels

        other.flush()
        self.n += other.n
        self.missing += other.missing
        self.chunks += other.chunks
        carry(self.chunks)
        ends = other.three[np.isfinite(other.three)]
        kernels.extremes(ends, self.three)
        self.n_few = kernels.distinct(other.few[: other.n_few], self.few, self.n_few)
        for mine, theirs in zip(self.ranks, other.ranks):
            mine.merge(theirs)

    def finished(self) -> tuple[Column, np.ndarray | None]:
        """The fitted column and its edges; no edges when another pass is needed to find them."""
        self.flush()
        fill = exact_mean(self.chunks, self.n - self.missing)
        least, second, most = self.three.tolist()
        summary = Summary(self.n - self.missing, least, second, most, self.few[: self.n_few].copy())
        return Column(self.name, "number", (), fill), edges_of(summary, self.n_bins, self.ranks)

    def again(self, values: np.ndarray) -> None:
        """Add a batch of a later pass, which only looks for what the first did not find."""
        from synafa.stream.kernels import columns as kernels

        doubles = np.empty(values.size)
        there, _ = kernels.present(values, doubles)
        for rank in self.ranks:
            rank.update(doubles[:there])

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON values and arrays for a checkpoint."""
        self.flush()
        meta, arrays = state(self.ranks)
        arrays |= {"chunks": self.chunks, "three": self.three, "few": self.few}
        return {"n": self.n, "missing": self.missing, "n_few": self.n_few, "ranks": meta}, arrays

    def from_state(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint."""
        self.n, self.missing, self.n_few = meta["n"], meta["missing"], meta["n_few"]
        self.chunks, self.three, self.few = arrays["chunks"], arrays["three"], arrays["few"]
        self.ranks = restore(meta["ranks"], arrays)


class TextColumn:
    """The record of a column of text: how often each category occurred."""

    def __init__(self, name: str, n_bins: int) -> None:
        self.name, self.n_bins = name, n_bins
        self.n = 0
        self.counts: dict[str, int] = {}

    @property
    def missing(self) -> int:
        """Rows without a text."""
        return self.n - sum(self.counts.values())

    def empty(self) -> TextColumn:
        """A record of nothing."""
        return TextColumn(self.name, self.n_bins)

    def update(self, series: pl.Series, where: str, first: int) -> pl.Series:
        """Add a batch; returns its tidied text."""
        text = texts_of(series)
        self.n += len(text)
        for category, count in text.drop_nulls().value_counts().iter_rows():
            self.counts[category] = self.counts.get(category, 0) + count
        self._check(where)
        return text

    def _check(self, where: str) -> None:
        if len(self.counts) > MOST_CATEGORIES:
            raise SynafaError(
                f"Column {self.name!r} has more than {MOST_CATEGORIES:,} different texts by {where}; it looks like an "
                "identifier: leave it out."
            )

    def merge(self, other: TextColumn) -> None:
        """Add what another part saw."""
        self.n += other.n
        for category, count in other.counts.items():
            self.counts[category] = self.counts.get(category, 0) + count
        self._check("the end")

    def finished(self) -> tuple[Column, np.ndarray | None]:
        """The fitted column and its edges."""
        categories = tuple(sorted(self.counts))
        often = np.array([self.counts[category] for category in categories], np.int64)
        fill = float(np.argmax(often)) if len(often) else 0.0
        places = np.arange(len(categories), dtype=np.float64)
        ranks = [Ranks(-np.inf, np.inf, 0.0, len(places) + 1, False, 0, places, often) for _ in range(self.n_bins - 1)]
        ends = (0.0, len(places) - 2.0 if len(places) > 1 else -np.inf, len(places) - 1.0) if len(places) else None
        least, second, most = ends or (np.inf, -np.inf, -np.inf)
        summary = Summary(int(often.sum()), least, second, most, places[: self.n_bins + 1])
        return Column(self.name, "text", categories, fill), edges_of(summary, self.n_bins, ranks)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"n": self.n, "counts": self.counts}, {}

    def from_state(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.n, self.counts = meta["n"], dict(meta["counts"])


class Coder:
    """How a column becomes codes: its edges, and for text its categories. An empty cell has the code above all."""

    def __init__(self, column: Column, edges: np.ndarray) -> None:
        self.column, self.edges = column, edges

    def values(self, series: pl.Series) -> np.ndarray:
        """The encoded numbers of a batch: for text the places of the categories, NaN for none."""
        import polars as pl

        if family(series.dtype) != "text":
            return numbers_of(series)
        return self.places(texts_of(series).cast(pl.Enum(list(self.column.categories)), strict=False))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of encoded numbers, uint8."""
        doubles = values.astype(np.float64)
        codes = (doubles[:, None] > self.edges).sum(axis=1)
        return np.where(np.isnan(doubles), len(self.edges) + 1, codes).astype(np.uint8)

    @staticmethod
    def places(categories: pl.Series) -> np.ndarray:
        import polars as pl

        return np.ascontiguousarray(categories.to_physical().cast(pl.Float64).to_numpy())
