"""Exact edges of one column of a stream, in a few passes and little memory.

A bracket is expected to hold the wanted rank; a pass counts what is below it and keeps what is in it, equal values
together. In the first pass, when the number of rows is not known, a bracket that holds too much closes around the rank
as it stands so far; later passes know the rank, and a bracket that holds too much is counted in buckets, of which the
next pass opens only the one (or two) that matter. Each such pass takes 12 bits off the 64 of a double, so there are at
most eight passes, and two in nearly all cases, whatever the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROOM = 8192  # values gathered before equal ones are put together
BUCKETS = 4096
_DOUBLE_MIN_KEY = np.int64(-0x8000000000000000)


@dataclass
class Ranks:
    """Values of some ranks that are wanted of a column: one bracket, what was seen of it.

    low, high : the bracket, ends included
    below : how many values lie below it
    values, counts : distinct values in the bracket, ascending, and how often each was seen
    limit : how many distinct values may be kept
    share : the place of the rank among all rows, between 0 and 1
    closing : whether the bracket may close around the rank as it stands so far
    """

    low: float
    high: float
    share: float
    limit: int
    closing: bool = True
    below: int = 0
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    histogram: np.ndarray | None = None
    seen: int = 0
    known: tuple[float, float] | None = None  # the values, once they were found
    waiting: list[np.ndarray] = field(default_factory=list)  # values in the bracket that were not yet put together
    n_waiting: int = 0
    crowd: int = 0  # rows in the bracket from which on it closes

    def update(self, doubles: np.ndarray) -> None:
        """Add rows, none of them missing."""
        from synafa.stream.kernels.columns import bracket, buckets

        if self.known is not None:
            return
        if self.histogram is not None:
            first, shift = self._grid()
            self.below += buckets(doubles, self.low, self.high, np.int64(first), np.uint64(shift), self.histogram)
            self.seen += doubles.size
            return
        kept = np.empty(ROOM)
        at = 0
        while doubles.size:
            read, under, at = bracket(doubles, self.low, self.high, kept, at)
            self.below += under
            self.seen += read
            doubles = doubles[read:]
            if at:
                self._wait(kept[:at].copy())
                at = 0
                if self.histogram is not None:
                    self.update(doubles)
                    return

    def add_inside(self, below: int, seen: int, inside: np.ndarray) -> None:
        """Add rows of which some values lie below the bracket and these in it."""
        self.below += below
        self.seen += seen
        self._wait(inside)

    def add_equal(self, below: int, seen: int, often: int) -> None:
        """Add rows to a bracket of one value, of which some values lie below it and `often` are that value."""
        if len(self.values) != 1:
            return self.add_inside(below, seen, np.full(often, self.low + 0.0))
        self.below += below
        self.seen += seen
        self.counts[0] += often

    def _wait(self, values: np.ndarray) -> None:
        """Values of the bracket; many at a time are put together."""
        self.waiting.append(values)
        self.n_waiting += values.size
        if self.n_waiting > max(ROOM, len(self.values)):
            self.gather()

    def gather(self) -> None:
        """Put all values together, equal ones counted."""
        if self.waiting:
            values, self.waiting, self.n_waiting = np.concatenate(self.waiting), [], 0
            values.sort()
            self._add(values, np.ones(len(values), np.int64))

    def middle(self) -> float:
        """The value of the rank as it stands so far, or as near to it as there is one in the bracket."""
        self.gather()
        if not len(self.values):
            return self.low if np.isfinite(self.low) else self.high
        rank = self.share * self.seen - self.below
        return float(self.values[min(int(np.searchsorted(np.cumsum(self.counts), rank)), len(self.values) - 1)])

    def add_counted(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Add distinct values, ascending, each as often as counted."""
        inside = (values >= self.low) & (values <= self.high)
        self.below += int(counts[values < self.low].sum())
        self.seen += int(counts.sum())
        self.gather()
        if self.histogram is not None:
            self.merge(Ranks(self.low, self.high, self.share, self.limit, False, 0, values[inside], counts[inside]))
        else:
            self._add(values[inside], counts[inside])

    def merge(self, other: Ranks) -> None:
        """Add what another part saw of the same bracket; brackets of parts do not close."""
        self.gather()
        other.gather()
        self.below += other.below
        self.seen += other.seen
        if other.histogram is not None and self.histogram is None:
            self._to_buckets()
        if self.histogram is not None:
            if other.histogram is None:
                other._to_buckets()
            assert other.histogram is not None
            self.histogram += other.histogram
        else:
            self._add(other.values, other.counts)

    def _add(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Put equal values, which are in order, together; close the bracket, or turn to buckets, when it holds much."""
        from synafa.stream.kernels.columns import merge_counted

        self.values, self.counts = merge_counted(self.values, self.counts, values, counts)
        if self.closing and (self._crowded() or len(self.values) > self.limit):
            self._close()
            self.crowd = 2 * int(self.counts.sum())
        elif len(self.values) > self.limit:
            self._to_buckets()

    def _crowded(self) -> bool:
        """Whether the bracket holds much more than the rank's uncertainty, and the rank lies well inside.

        Where it does not, rows come in an order and what was seen says little about what is to come.
        """
        inside = int(self.counts.sum())
        rank = self.share * self.seen - self.below
        return inside > max(self.crowd, 4 * self._reach()) and 0.25 * inside < rank < 0.75 * inside

    def _many(self) -> bool:
        """Whether the bracket holds many different values."""
        return len(self.values) > min(64, self.limit // 4)

    def _reach(self) -> float:
        """Six standard deviations of the rank, at least a sixteenth of the room where there are many values."""
        spread = 6.0 * np.sqrt(self.share * (1 - self.share) * self.seen)
        return float(min(max(spread, self.limit // 16), self.limit * 3 // 8) if self._many() else spread)

    def _close(self) -> None:
        """Keep the values around the rank as it stands; the others are counted as they lie."""
        rank, reach, upto = self.share * self.seen - self.below, self._reach(), np.cumsum(self.counts)
        first = int(np.searchsorted(upto, rank - reach))
        last = min(int(np.searchsorted(upto, rank + reach)) + 1, len(self.values))
        first = min(first, last - 1)
        self.below += int(self.counts[:first].sum())
        self.low, self.high = float(self.values[first]), float(self.values[last - 1])
        self.values, self.counts = self.values[first:last], self.counts[first:last]

    def _to_buckets(self) -> None:
        self.histogram = np.zeros(BUCKETS, np.int64)
        first, shift = self._grid()
        distance = _keys(self.values).view(np.uint64) - np.int64(first).view(np.uint64)
        np.add.at(self.histogram, distance >> np.uint64(shift), self.counts)
        self.values, self.counts = self.values[:0], self.counts[:0]

    def _grid(self) -> tuple[int, int]:
        """The key of the bracket's low end, and how many bits of a key's distance to it a bucket leaves out."""
        first, last = int(_keys(np.array([self.low]))[0]), int(_keys(np.array([self.high]))[0])
        return first, max(0, (last - first).bit_length() - 12)

    def find(self, ranks: tuple[int, int], column: Summary) -> tuple[float, float] | None:
        """The values of two neighbouring ranks; None when they are not known.

        The bracket is then set to where they are, for the next pass.
        """
        if self.known is not None:
            return self.known
        self.gather()
        counts = self.counts if self.histogram is None else self.histogram
        upto = self.below + np.cumsum(counts)
        if len(upto) and self.below <= ranks[0] and ranks[1] < upto[-1]:
            one, other = (int(np.searchsorted(upto, rank, side="right")) for rank in ranks)
            if self.histogram is None:
                self.known = float(self.values[one]), float(self.values[other])
                return self.known
            first, shift = self._grid()
            low, high = _value(first + (one << shift)), _value(first + ((other + 1) << shift) - 1)
            self.low, self.high = max(low, self.low), min(high, self.high)
        else:
            low = column.least if ranks[0] < self.below else self.low
            high = column.most if not len(upto) or ranks[1] >= upto[-1] else self.high
            self.low, self.high = min(low, high), max(low, high)
        self._again()
        return None

    def _again(self) -> None:
        self.below = self.seen = 0
        self.values, self.counts = np.zeros(0), np.zeros(0, np.int64)
        self.waiting, self.n_waiting = [], 0
        self.histogram, self.closing = None, False


@dataclass
class Summary:
    """What is known of a column as a whole.

    n : rows with a value; least, second, most : extremes, `second` the second largest distinct value; few : the
    distinct values, in any order, as long as they are not more than the bins
    """

    n: int
    least: float
    second: float
    most: float
    few: np.ndarray


def edges_of(column: Summary, n_bins: int, ranks: list[Ranks]) -> np.ndarray | None:
    """The edges (n_bins - 1,) that `Discretizer(n_bins)` finds for the column; None while a rank is not known."""
    edges = np.full(n_bins - 1, np.inf)
    few = np.sort(column.few)
    if len(few) <= n_bins:
        edges[: max(0, len(few) - 1)] = 0.5 * few[:-1] + 0.5 * few[1:]
        return edges
    found = [rank.find(wanted_ranks(column.n, i + 1, n_bins)[:2], column) for i, rank in enumerate(ranks)]
    if any(pair is None for pair in found):
        return None
    pairs = [pair for pair in found if pair is not None]
    if n_bins == 2:
        lower, upper = pairs[0]
        median = lower if lower == upper else 0.5 * lower + 0.5 * upper
        edges[0] = median if median < column.most else column.second
        return edges
    quantiles = [_between(pair, wanted_ranks(column.n, i + 1, n_bins)[2]) for i, pair in enumerate(pairs)]
    cut = np.unique(np.minimum(quantiles, column.second))
    edges[: len(cut)] = cut
    return edges


def wanted_ranks(n: int, i: int, n_bins: int) -> tuple[int, int, float]:
    """The two ranks that quantile i of n_bins lies between, and its place between them, as NumPy computes them."""
    if n_bins == 2:
        return (n - 1) // 2, n // 2, 0.5
    place = (np.arange(1, n_bins) / n_bins * (n - 1))[i - 1]
    first = int(np.floor(place))
    return first, min(first + 1, n - 1), float(place - first)


def _between(pair: tuple[float, float], part: float) -> float:
    """NumPy's interpolation between two neighbouring values."""
    low, high = pair
    difference = high - low
    return high - difference * (1 - part) if part >= 0.5 else low + difference * part


def sample_brackets(sample: np.ndarray, n_bins: int, limit: int) -> list[Ranks]:
    """Brackets that very likely hold the quantiles of a column, from a sample of it (NaN: missing)."""
    there = sample[~np.isnan(sample)]
    shares = np.arange(1, n_bins) / n_bins
    if there.size < 64:
        return [Ranks(-np.inf, np.inf, float(share), limit) for share in shares]
    spread = 6.0 * np.sqrt(shares * (1 - shares) / there.size)
    ends = np.clip([shares - spread, shares + spread], 0.0, 1.0) * (there.size - 1)
    lows, highs = np.floor(ends[0]).astype(np.int64), np.ceil(ends[1]).astype(np.int64)
    ordered = np.partition(there, np.concatenate([lows, highs])).astype(np.float64) + 0.0
    ends_of = zip(ordered[lows].tolist(), ordered[highs].tolist(), shares.tolist())
    return [Ranks(low, high, share, limit) for low, high, share in ends_of]


def _keys(values: np.ndarray) -> np.ndarray:
    """int64 keys in the order of the values; 0.0 and -0.0 are alike."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, _DOUBLE_MIN_KEY - bits)


def _value(key: int) -> float:
    """The double of a key."""
    key = max(min(key, 0x7FF0000000000000), -0x7FF0000000000000)
    bits = np.int64(key if key >= 0 else int(_DOUBLE_MIN_KEY) - key)
    return float(bits.view(np.float64))


def state(ranks: list[Ranks]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Brackets as JSON values and arrays, for checkpoints."""
    meta: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    saved = ("low", "high", "share", "limit", "closing", "below", "seen", "crowd")
    for i, rank in enumerate(ranks):
        rank.gather()
        plain = {name: getattr(rank, name) for name in saved}
        known = None if rank.known is None else list(rank.known)
        meta.append(plain | {"buckets": rank.histogram is not None, "known": known})
        arrays |= {f"values{i}": rank.values, f"counts{i}": rank.counts}
        if rank.histogram is not None:
            arrays[f"histogram{i}"] = rank.histogram
    return meta, arrays


def restore(meta: list[dict[str, Any]], arrays: dict[str, np.ndarray]) -> list[Ranks]:
    """The brackets that `state` described."""
    ranks = []
    for i, plain in enumerate(meta):
        plain = dict(plain)
        bucketed, known = plain.pop("buckets"), plain.pop("known")
        rank = Ranks(**plain, values=arrays[f"values{i}"], counts=arrays[f"counts{i}"])
        rank.histogram = arrays[f"histogram{i}"] if bucketed else None
        rank.known = None if known is None else (known[0], known[1])
        ranks.append(rank)
    return ranks
