"""What was done to a table while it was read: each thing that changes the meaning of a cell is said."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """One thing that was done to a table.

    Attributes
    ----------
    text : str
        A sentence for the person at the keyboard.
    column : str
        The column concerned, empty for the whole file.
    row : int
        The first row concerned, counted from 1 below the header; 0 where there is none.
    cell : str
        What stood there.
    count : int
        How many cells it concerns.
    """

    text: str
    column: str = ""
    row: int = 0
    cell: str = ""
    count: int = 0


class TableWarning(UserWarning):
    """A notice that nobody asked to receive."""


Tell = Callable[[Notice], None]


def warn(notice: Notice) -> None:
    """Pass a notice on as a Python warning."""
    warnings.warn(notice.text, TableWarning, stacklevel=2)
