"""Arrays that a thread uses again for every column and batch: what lies in brackets, and which values are open."""

from __future__ import annotations

import numpy as np


class Room:
    """Where `read_column` puts what it finds.

    kept : float64 (edges, rows), values in the brackets of one column
    told : int64 (3, edges), how many of one column are in each bracket, not below it, and open
    row, value, code : the open values of all columns of a batch, in the order of `columns`; `n_open` of them
    columns : of every column that has open values, its number and how many there are
    """

    def __init__(self) -> None:
        self.kept, self.told = np.empty((0, 0)), np.zeros((3, 0), np.int64)
        self.row, self.value, self.code = np.empty(0, np.int32), np.empty(0), np.empty(0, np.uint8)
        self.columns: list[tuple[int, int]] = []
        self.n_open = 0

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What is filled, in the order in which `read_column` takes it."""
        return self.kept, self.told, self.row, self.value, self.code

    def clear(self) -> None:
        """Begin a batch."""
        self.columns, self.n_open = [], 0

    def prepare(self, n_edges: int, n_rows: int) -> None:
        """Make room for one more column, all of whose values may be open at every edge."""
        if self.kept.shape[0] != n_edges or self.kept.shape[1] < n_rows:
            self.kept, self.told = np.empty((n_edges, n_rows)), np.zeros((3, n_edges), np.int64)
        if len(self.row) < self.n_open + n_edges * n_rows:
            size = 2 * (self.n_open + n_edges * n_rows)
            for name in ("row", "value", "code"):
                before = getattr(self, name)
                setattr(self, name, np.empty(size, before.dtype))
                getattr(self, name)[: self.n_open] = before[: self.n_open]

    def note(self, column: int, n_open: int) -> None:
        """A column's open values have been put here."""
        if n_open > self.n_open:
            self.columns.append((column, n_open - self.n_open))
            self.n_open = n_open

    def found(self) -> tuple[np.ndarray, ...]:
        """Row, column, value and code of everything that is open."""
        numbers, often = np.array(self.columns, np.int32).reshape(-1, 2).T
        n = self.n_open
        return self.row[:n], np.repeat(numbers, often), self.value[:n], self.code[:n]
