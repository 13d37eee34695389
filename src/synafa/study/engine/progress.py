"""How a run shows itself: one Rich line with time left on a terminal, one plain line per unit elsewhere, or nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from synafa.study.engine.unit import Unit

if TYPE_CHECKING:
    from synafa.study.engine.schedule import Schedule


class Progress(Protocol):
    """What a runner tells its display."""

    def begin(self, schedule: Schedule) -> None: ...
    def finished(self, schedule: Schedule, unit: Unit, status: str, error: str) -> None: ...
    def update(self, schedule: Schedule) -> None: ...
    def end(self, schedule: Schedule) -> None: ...


class Silent:
    """No display."""

    def begin(self, schedule: Schedule) -> None: ...
    def finished(self, schedule: Schedule, unit: Unit, status: str, error: str) -> None: ...
    def update(self, schedule: Schedule) -> None: ...
    def end(self, schedule: Schedule) -> None: ...


class Lines(Silent):
    """One line per finished unit on standard error, for logs."""

    def finished(self, schedule: Schedule, unit: Unit, status: str, error: str) -> None:
        count = f"{len(schedule.done)}/{len(schedule.units)}"
        left = duration(schedule.seconds_left())
        reason = f": {error.splitlines()[-1]}" if error else ""
        print(f"{count} {status} {unit.label}{reason} ({left} left)", file=sys.stderr, flush=True)


class Bar(Silent):
    """A Rich progress bar on standard error: units done, failed, time left, what is running."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self.rich = RichProgress(
            TextColumn("study"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[trouble]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]} left"),
            TextColumn("[dim]{task.fields[now]}", markup=True),
            console=Console(stderr=True),
            transient=False,
        )
        self.task: Any = None

    def begin(self, schedule: Schedule) -> None:
        self.task = self.rich.add_task("study", total=len(schedule.units), left="", now="", trouble="")
        self.rich.start()
        self.update(schedule)

    def finished(self, schedule: Schedule, unit: Unit, status: str, error: str) -> None:
        from rich.markup import escape  # a label may hold brackets

        if status != "done":
            words = f"{unit.label}: {error.splitlines()[-1] if error else ''}"
            self.rich.console.print(f"[red]failed[/red] {escape(words)}", highlight=False)

    def update(self, schedule: Schedule) -> None:
        from rich.markup import escape

        troubled = len(schedule.failed) + len(schedule.blocked)
        self.rich.update(
            self.task,
            completed=len(schedule.done),
            left=duration(schedule.seconds_left()),
            now=escape(" | ".join(schedule.units[key].label for key in list(schedule.running)[:2])),
            trouble=f"[red]{troubled} failed or blocked[/red]" if troubled else "",
        )

    def end(self, schedule: Schedule) -> None:
        if self.task is not None:
            self.update(schedule)
            self.rich.stop()


def best_display() -> Progress:
    """A bar on a terminal, lines elsewhere."""
    return Bar() if sys.stderr.isatty() else Lines()


def duration(seconds: float) -> str:
    """Seconds in words: `45 s`, `12 min`, `2 h 05 min`.

    >>> duration(7500)
    '2 h 05 min'
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
