"""Batches to pair counts: every column is coded by its edges, packed into bit planes class by class, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.information.counts import PairCounts
from synafa.information.labels import rows_by_class
from synafa.stream.columns import Coder

if TYPE_CHECKING:
    import polars as pl

    from synafa.stream.labels import Labels
    from synafa.stream.sources import Source

_SMALL = 1 << 27  # words that are compared, below which one thread counts
KEPT_ROWS = 100_000  # training rows whose codes are kept, for decision graphs


@dataclass(frozen=True)
class Pool:
    """Threads, and whether they are needed at the moment."""

    threads: ThreadPoolExecutor
    n_threads: int
    needed: Callable[[], bool]


def each(pool: Pool | None, work: Callable[[int], Any], n: int) -> None:
    """Do n pieces of work, in threads where they are needed; the first error is raised."""

    def share(first: int, step: int) -> None:
        for i in range(first, n, step):
            work(i)

    if pool is None or not pool.needed():
        share(0, 1)
    else:
        for future in [pool.threads.submit(share, k, pool.n_threads) for k in range(pool.n_threads)]:
            future.result()


@contextmanager
def compiled_threads(planes: np.ndarray) -> Iterator[None]:
    """Compiled code counts few planes in one thread: waking another takes longer, and the reader needs it."""
    from numba import get_num_threads, set_num_threads

    before = get_num_threads()
    set_num_threads(1 if planes.shape[0] * planes.size < _SMALL else before)
    try:
        yield
    finally:
        set_num_threads(before)


class Counter:
    """Counts that grow batch by batch; classes may turn up at any time.

    Parameters
    ----------
    coders : how each column becomes codes
    n_bins : codes of a column
    keep : how many of the first rows' codes to keep
    missing : whether cells may be empty; they are counted under the code `n_bins`
    """

    def __init__(self, coders: Sequence[Coder], n_bins: int, keep: int = 0, missing: bool = False) -> None:
        self.coders, self.n_bins, self.keep, self.missing = list(coders), n_bins, keep, missing
        self.width = n_bins - 1 + missing  # planes of a column
        self.fill = n_bins if missing else 0
        self.counts: PairCounts | None = None
        self.kept: list[np.ndarray] = []
        self.kept_labels: list[np.ndarray] = []
        self.n_kept = 0

    def update(
        self,
        values: Sequence[np.ndarray | None],
        frame: pl.DataFrame,
        labels: tuple[np.ndarray, np.ndarray],
        pool: Pool | None = None,
    ) -> None:
        """Add a batch; `values` holds encoded columns where they are known, others are taken from the frame."""
        from synafa.stream.kernels.columns import pack_column

        classes, indices = labels
        order, starts = rows_by_class(indices, len(classes))
        width = self.width
        planes = np.empty((len(self.coders) * width, order.size // 64), np.uint64)
        first = min(frame.height, self.keep - self.n_kept)
        kept = np.empty((first, len(self.coders)), np.uint8)

        def pack(j: int) -> None:
            coder, column = self.coders[j], values[j]
            if column is None:
                column = coder.values(frame.to_series(j))
            pack_column(column, order, coder.edges, self.fill, planes[j * width : (j + 1) * width])
            if first:
                kept[:, j] = coder.codes(column[:first])

        each(pool, pack, len(self.coders))
        sizes = np.bincount(indices, minlength=len(classes))
        with compiled_threads(planes):
            self.add(classes, planes, starts, sizes)
        if first:
            self.kept.append(kept)
            self.kept_labels.append(classes[indices[:first]])
            self.n_kept += first

    def keep_rows(self, frame: pl.DataFrame, labels: tuple[np.ndarray, np.ndarray]) -> None:
        """Keep the codes of a frame's rows without counting them."""
        classes, indices = labels
        columns = [coder.values(frame.to_series(j)) for j, coder in enumerate(self.coders)]
        self.kept.append(np.stack([coder.codes(column) for coder, column in zip(self.coders, columns)], axis=1))
        self.kept_labels.append(classes[indices])
        self.n_kept += frame.height

    def add(self, classes: np.ndarray, planes: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> None:
        """Add packed rows of some classes, which are in order."""
        if self.counts is None:
            self.counts = self.no_counts(classes)
        if np.array_equal(self.counts.classes, classes):
            self.counts.add_planes(planes, starts, sizes)
        else:
            self.counts.merge(self.no_counts(classes).add_planes(planes, starts, sizes))

    def no_counts(self, classes: np.ndarray) -> PairCounts:
        """Counts of no rows."""
        return PairCounts(len(self.coders), self.n_bins, classes, self.missing)

    def first_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes and class places of the first rows."""
        assert self.counts is not None
        codes = np.concatenate(self.kept) if self.kept else np.zeros((0, len(self.coders)), np.uint8)
        labels = np.concatenate(self.kept_labels) if self.kept_labels else self.counts.classes[:0]
        return codes, np.searchsorted(self.counts.classes, labels)


def first_rows(
    table: Source, names: Sequence[str], labels: Labels, coders: Sequence[Coder], classes: np.ndarray, keep: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and class places of the first rows, read once more."""
    counter = Counter(coders, 2, keep)
    for batch in table.batches([*names, labels.target]) if keep else ():
        frame = batch.frame.head(keep - counter.n_kept)
        counter.keep_rows(frame, labels.read(frame.to_series(len(names)), batch.where, batch.first))
        if counter.n_kept >= keep:
            break
    if not counter.n_kept:
        return np.zeros((0, len(coders)), np.uint8), np.zeros(0, np.int64)
    return np.concatenate(counter.kept), np.searchsorted(classes, np.concatenate(counter.kept_labels))


def same(old: Coder, new: Coder, record: Any) -> bool:
    """Whether guessed edges gave every cell of a column the code that the right ones give it."""
    if old.column.kind != new.column.kind:
        return False
    if new.column.kind == "text":
        if not set(new.column.categories) <= set(old.column.categories):
            return False
        place = {category: float(i) for i, category in enumerate(old.column.categories)}
        before = [int((place[category] > old.edges).sum()) for category in new.column.categories]
        after = [int((i > new.edges).sum()) for i in range(len(new.column.categories))]
        return before == after
    if record.n_few < len(record.few):  # all values are known
        few = record.few[: record.n_few, None]
        return bool(((few > old.edges).sum(axis=1) == (few > new.edges).sum(axis=1)).all())
    return all(g == e or _nothing_between(g, e, i, record) for i, (g, e) in enumerate(zip(old.edges, new.edges)))


def _nothing_between(one: float, other: float, i: int, record: Any) -> bool:
    """Whether no value of the column is above the smaller and not above the larger of two edges."""
    low, high = min(one, other), max(one, other)
    rank = record.ranks[i]
    if not (rank.low <= low and high <= rank.high) or rank.histogram is not None:
        return False
    rank.gather()
    return not ((rank.values > low) & (rank.values <= high)).any()
