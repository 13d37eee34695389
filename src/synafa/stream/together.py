"""Many Parquet files of the same types as one scan: while a file ends, Polars already reads the next.

Rows are dealt to the files they are of by the numbers of rows in the files' footers. What is wrong is found by reading
file by file, which says where.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from synafa.errors import SynafaError
from synafa.table.panics import PanicError, unless_panic

if TYPE_CHECKING:
    import polars as pl

    from synafa.stream.sources import Batch, Source


def can_be_joined(source: Source, part: int) -> bool:
    """Whether there are several files from a part on, of which one scan can be made."""
    return source.joined is not None and len(source.parts) - part > 1


def joined_batches(
    source: Source, columns: Sequence[str], size: int, part: int, first: int
) -> Generator[Batch, None, bool]:
    """Batches as `Source.batches` yields them; False when not one could be read this way.

    Raises
    ------
    SynafaError
        When a file cannot be read to its end, which is named.
    """
    from synafa.stream.sources import Batch, merged_frames

    number, done, begun = part, first, False
    frames: Iterator[pl.DataFrame] | None = None
    while True:
        try:
            with unless_panic():
                if frames is None:
                    assert source.joined is not None
                    lazy: Any = source.joined(part).select(columns).slice(first)
                    frames = merged_frames(lazy.collect_batches(lazy=True), size // 4)
                frame = next(frames, None)
        except Exception as error:
            if not (isinstance(error, PanicError | OSError) or type(error).__module__.startswith("polars")):
                raise
            if not begun:
                return False
            raise _culprit(source, columns, part) from error
        if frame is None:
            number, done = _past_empty(source, number, done)
            if number < len(source.parts):
                raise _culprit(source, columns, part)
            return True
        while frame.height:
            number, done = _past_empty(source, number, done)
            rows = source.rows[number]
            assert rows is not None
            taken = min(rows - done, 2 * size, frame.height)
            begun = True
            yield Batch(frame.slice(0, taken), source.names[number], number, done)
            done += taken
            frame = frame.slice(taken)


def _past_empty(source: Source, number: int, done: int) -> tuple[int, int]:
    """The place where the next row is."""
    while number < len(source.parts) and done == source.rows[number]:
        number, done = number + 1, 0
    return number, done


def _culprit(source: Source, columns: Sequence[str], part: int) -> SynafaError:
    """Which file cannot be read."""
    try:
        for _ in source.batches(columns, part=part):
            pass
    except SynafaError as error:
        return error
    return SynafaError(
        "The files cannot be read to their end together, although each can alone; they change: try again."
    )
