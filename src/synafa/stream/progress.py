"""How far a stream has come: rows, rows per second, time left; on a terminal one line that is written over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A moment of a pass: its name, rows done, all rows where that is known, the share done, seconds since it began."""

    name: str
    rows: int
    total: int | None
    share: float | None
    seconds: float

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """What is left at the pace so far; None while the share is not known."""
        return self.seconds * (1 - self.share) / self.share if self.share else None

    def __str__(self) -> str:
        """For people: `counting: 1,200,000 of 5,000,000 rows, 800,000 rows/s, 5 s left`."""
        of = f" of {self.total:,}" if self.total is not None else ""
        left = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        return f"{self.name}: {self.rows:,}{of} rows, {self.rows_per_second:,.0f} rows/s{left}"


Report = Callable[[Stage], None]


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Line:
    """Shows progress on standard error: written over on a terminal, a line every ten seconds elsewhere."""

    def __init__(self) -> None:
        self.shown = time.monotonic()
        self.width = 0

    def __call__(self, stage: Stage) -> None:
        terminal = sys.stderr.isatty()
        if time.monotonic() - self.shown < (0.2 if terminal else 10.0):
            return
        self.shown = time.monotonic()
        text = str(stage)
        sys.stderr.write(f"\r{text:<{self.width}}" if terminal else f"{text}\n")
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        """Clear the line."""
        if self.width and sys.stderr.isatty():
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
