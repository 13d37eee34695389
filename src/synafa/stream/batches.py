"""Some rows of a table on their way, and small frames put together until a batch is worth its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Batch:
    """Some rows: `frame`, where they come from, the number of the part, and how many of its rows came before."""

    frame: pl.DataFrame
    where: str
    part: int
    first: int


def merged_frames(frames: Iterable[pl.DataFrame], least: int) -> Iterator[pl.DataFrame]:
    """Frames as they come; small ones are put together until they have at least so many rows."""
    import polars as pl

    waiting: list[pl.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        if sum(small.height for small in waiting) >= least:
            yield pl.concat(waiting, rechunk=False) if len(waiting) > 1 else frame
            waiting = []
    if waiting:
        yield pl.concat(waiting, rechunk=False)
