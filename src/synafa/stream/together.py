"""Many Parquet files of the same types as one scan: while a file ends, Polars already reads the next.

Rows are dealt to the files they are of by the numbers of rows in the files' footers. What is wrong is found by reading
file by file, which says where.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synafa.errors import SynafaError
from synafa.stream.batches import Batch, merged_frames
from synafa.table.panics import PanicError, unless_panic

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Files:
    """Files to be read as one.

    scan : a lazy frame of all from one on
    names, rows : how errors call each, and how many rows it has
    one_by_one : reads them in turn, which fails with a sentence that names the damaged one
    """

    scan: Callable[[int], Any]
    names: Sequence[str]
    rows: Sequence[int | None]
    one_by_one: Callable[[], Iterable[Batch]]


def joined_batches(
    files: Files, columns: Sequence[str], size: int, part: int, first: int
) -> Generator[Batch, None, bool]:
    """Batches from row `first` of a file on, each of one file; False when not one could be read this way.

    Raises
    ------
    SynafaError
        When a file cannot be read to its end, which is named.
    """
    number, done, begun = part, first, False
    frames: Iterator[pl.DataFrame] | None = None
    while True:
        try:
            with unless_panic():
                if frames is None:
                    lazy = files.scan(part).select(columns).slice(first)
                    frames = merged_frames(lazy.collect_batches(lazy=True), size // 4)
                frame = next(frames, None)
        except Exception as error:
            if not (isinstance(error, PanicError | OSError) or type(error).__module__.startswith("polars")):
                raise
            if not begun:
                return False
            raise _culprit(files) from error
        if frame is None:
            if _past_empty(files, number, done)[0] < len(files.names):
                raise _culprit(files)
            return True
        while frame.height:
            number, done = _past_empty(files, number, done)
            rows = files.rows[number] if number < len(files.names) else None
            if rows is None:  # more than the footers said
                raise _culprit(files)
            taken = min(rows - done, 2 * size, frame.height)
            begun = True
            yield Batch(frame.slice(0, taken), files.names[number], number, done)
            done += taken
            frame = frame.slice(taken)


def _past_empty(files: Files, number: int, done: int) -> tuple[int, int]:
    """The place where the next row is."""
    while number < len(files.names) and done == files.rows[number]:
        number, done = number + 1, 0
    return number, done


def _culprit(files: Files) -> SynafaError:
    """Which file cannot be read."""
    try:
        for _ in files.one_by_one():
            pass
    except SynafaError as error:
        return error
    return SynafaError(
        "The files cannot be read to their end together, although each can alone; they change: try again."
    )
