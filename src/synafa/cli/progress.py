"""A progress bar for work of unknown length: it shows itself on standard error when two seconds have passed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 2.0


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float, str], None]]:
    """A function `(share, text)` that long work calls; the bar appears after `SECONDS` and goes away at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=1.0)
    began, shown = time.monotonic(), False

    def tell(share: float, text: str) -> None:
        nonlocal shown
        bar.update(task, completed=min(max(share, 0.0), 1.0), description=f"{what}: {text}" if text else what)
        if not shown and time.monotonic() - began >= SECONDS:
            bar.start()
            shown = True

    try:
        yield tell
    finally:
        if shown:
            bar.stop()
