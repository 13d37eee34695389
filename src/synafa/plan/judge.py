"""Judges feature sets: the utility of every row when just these features are known, computed once and remembered.

Rows are handled in chunks and sets in groups of a fixed size by as many threads as there are, each piece by one thread
alone, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from synafa.plan.prices import Prices
from synafa.plan.scorers import Scorer
from synafa.plan.utility import Utility

Set = tuple[int, ...]
_CACHE_BYTES = 400_000_000
_MANY_CHUNKS = 8  # from so many on, a chunk of rows is the piece of work; of fewer, a group of sets on a chunk


class Judge:
    """Utilities of feature sets on rows 0..n-1.

    Parameters
    ----------
    scorer : class probabilities of feature sets on these rows, by predictors that did not see them
    y : int64 (n,), classes
    utility : probabilities and classes to utilities
    prices : what asking a feature reveals
    known : features that are known from the start
    threads : how many chunks of rows are handled at a time
    """

    def __init__(
        self,
        scorer: Scorer,
        y: np.ndarray,
        utility: Utility,
        prices: Prices,
        known: Sequence[int] = (),
        threads: int = 1,
    ) -> None:
        self.scorer, self.y, self.measure, self.prices = scorer, y, utility, prices
        self.truth = y  # what utilities are judged by: the classes, or how probable each of them is, (n, K)
        self.known = tuple(known)
        self.threads = threads
        self.n = len(y)
        self.evaluations = 0  # rows times sets judged so far
        self._cache: OrderedDict[Set, np.ndarray] = OrderedDict()
        self._most = max(64, _CACHE_BYTES // (4 * max(self.n, 1)))
        self._pool: ThreadPoolExecutor | None = None

    def closed(self, asked: Iterable[int]) -> Set:
        """Everything known after `asked` were measured, sorted: what they reveal, and what is known from the start."""
        found = set(self.known)
        for j in asked:
            found.update(self.prices.closures[j])
        return tuple(sorted(found))

    def utility(self, asked: Sequence[int], rows: np.ndarray) -> np.ndarray:
        """The utility of each row when `asked` and what they reveal are known, float32 (m,)."""
        return self.sweep(asked, [()], rows)[:, 0]

    def sweep(self, asked: Sequence[int], more: Sequence[Sequence[int]], rows: np.ndarray) -> np.ndarray:
        """The utility of each row when `asked` and one element of `more` are known, float32 (m, len(more))."""
        base = self.closed(asked)
        keys = [tuple(sorted({*base, *(k for j in extra for k in self.prices.closures[j])})) for extra in more]
        out = np.empty((len(keys), len(rows)), dtype=np.float32)
        todo = []
        for column, key in enumerate(keys):
            kept = self._cache.get(key)
            if kept is not None:
                self._cache.move_to_end(key)
                np.take(kept, rows, out=out[column])
            if kept is None or np.isnan(out[column]).any():
                todo.append(column)
        if todo:
            inside = set(base)
            self._compute(base, [(c, tuple(k for k in keys[c] if k not in inside)) for c in todo], rows, out)
            for column in todo:
                self._remember(keys[column], rows, out[column])
        return out.T

    def proba(self, asked: Sequence[int], rows: np.ndarray) -> np.ndarray:
        """Honest class probabilities of the rows when `asked` are known, (m, K)."""
        base = self.closed(asked)
        chunks = self._chunks(rows)
        return np.concatenate([self.scorer.proba(self.scorer.open(base, chunk), chunk) for _, chunk in chunks])

    @contextmanager
    def working(self) -> Iterator[None]:
        """Threads for the time of a search; linear algebra then runs on one thread in each."""
        from threadpoolctl import threadpool_limits

        import_module("scipy.linalg.cython_blas")  # what the kernels multiply by is limited only once it is loaded
        with threadpool_limits(1), ThreadPoolExecutor(max(self.threads, 1)) as pool:
            self._pool = pool if self.threads > 1 else None
            try:
                yield
            finally:
                self._pool = None

    def _compute(self, base: Set, columns: list[tuple[int, Set]], rows: np.ndarray, out: np.ndarray) -> None:
        self.evaluations += len(rows) * len(columns)
        scorer, chunks = self.scorer, self._chunks(rows)
        size = max(1, scorer.group // max(len(chunks[0][1]), 1))
        groups = [columns[i : i + size] for i in range(0, len(columns), size)]

        def judge(piece: tuple[slice, np.ndarray, Any, list[tuple[int, Set]]]) -> None:
            where, chunk, state, group = piece
            proba = scorer.sweep(state, chunk, [extra for _, extra in group])
            for (column, _), found in zip(group, self.measure.planes(proba, self.truth[chunk])):
                out[column, where] = found

        def judge_all(piece: tuple[slice, np.ndarray]) -> None:
            state = scorer.open(base, piece[1])
            for group in groups:
                judge((*piece, state, group))

        if len(chunks) >= _MANY_CHUNKS or len(groups) == 1:
            self._run(judge_all, chunks)
        else:
            states = self._run(lambda piece: scorer.open(base, piece[1]), chunks)
            self._run(judge, [(*piece, state, group) for piece, state in zip(chunks, states) for group in groups])

    def _chunks(self, rows: np.ndarray) -> list[tuple[slice, np.ndarray]]:
        size = self.scorer.chunk
        return [(slice(i, i + size), rows[i : i + size]) for i in range(0, max(len(rows), 1), size)]

    def _run(self, work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
        if self._pool is None or len(pieces) == 1:
            return [work(piece) for piece in pieces]
        return list(self._pool.map(work, pieces))

    def _remember(self, key: Set, rows: np.ndarray, found: np.ndarray) -> None:
        kept = self._cache.get(key)
        if kept is None:
            full = len(self._cache) >= self._most
            kept = self._cache.popitem(last=False)[1] if full else np.empty(self.n, dtype=np.float32)
            kept.fill(np.nan)
            self._cache[key] = kept
        kept[rows] = found
