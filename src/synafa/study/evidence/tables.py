"""What an experiment hands to the report: rows that stand beside the paper's, plain tables, figures and headlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.stats.multiplicity import adjusted_stars, pvalue_text
from synafa.study.evidence.duplicates import counted_as
from synafa.study.evidence.paper import PaperValue
from synafa.study.evidence.verdict import Verdict, judge, least_kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True)
class ReportRow:
    """One number of ours beside the paper's.

    Attributes
    ----------
    labels : what the number is, one text for each of the table's `columns`
    here : our value; None when it was not run
    paper : the paper's value; None when it prints none
    low, high : our 95 % interval, when there is one
    spread : where one more training of ours would lie (95 %), when it was repeated; the yardstick of the verdict
    p : ours, where the row is a difference that is tested
    significant : ours, p < 0.05 unadjusted, as the paper's stars are: what the verdict compares
    starred : whether p survives Benjamini-Hochberg's adjustment within its table, which sets it
    beside : further values that the paper prints for the same number (bounds, p), shown but not judged
    deterministic : no training and no resampling stands between data and number, so it must be equal
    digits : decimals shown; by default as many as the paper prints
    comparable : False (with a note) where the paper's number means something else
    note : a few words
    """

    labels: tuple[str, ...]
    here: float | None
    paper: PaperValue | None = None
    low: float | None = None
    high: float | None = None
    significant: bool | None = None
    deterministic: bool = False
    digits: int | None = None
    comparable: bool = True
    note: str = ""
    spread: tuple[float, float] | None = None
    p: float | None = None
    beside: tuple[PaperValue, ...] = ()
    starred: bool | None = None

    @classmethod
    def tested(
        cls,
        labels: tuple[str, ...],
        here: float,
        low: float,
        high: float,
        p: float,
        paper: PaperValue | None,
        note: str = "",
        spread: tuple[float, float] | None = None,
        beside: tuple[PaperValue, ...] = (),
    ) -> ReportRow:
        """A difference with its interval and p-value; the table it stands in adjusts its star."""
        return cls(labels, here, paper, low, high, p < 0.05, note=note, spread=spread, p=p, beside=beside)

    @classmethod
    def repeated(
        cls,
        labels: tuple[str, ...],
        values: Sequence[float] | np.ndarray,
        paper: PaperValue | None,
        digits: int | None = None,
        note: str = "",
    ) -> ReportRow:
        """A number that was found several times, once a run: the mean, and where one more would lie."""
        from synafa.stats import prediction_interval

        here = float(np.mean(values)) if len(values) else None
        spread = prediction_interval(values) if len(values) > 1 else None
        return cls(labels, here, paper, spread=spread, digits=digits, note=note)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict by the stated rule; None without a paper's value."""
        if self.paper is None:
            return None
        interval, kind = (self.low, self.high), (self.deterministic, self.comparable)
        return judge(self.here, self.paper, *interval, self.significant, *kind, self.spread)

    @property
    def place(self) -> tuple[str, ...]:
        """Which number of the paper this is, the same wherever it is shown; our labels where it has no place."""
        if self.paper is None or self.paper.place is None:
            return self.labels
        return counted_as(self.paper.place)


@dataclass(frozen=True)
class ReportTable:
    """Rows beside the paper's table `label`, e.g. `physionet-clean`; stars are adjusted over the table's own tests."""

    title: str
    label: str
    columns: tuple[str, ...]
    rows: Sequence[ReportRow]
    note: str = ""

    def __post_init__(self) -> None:
        stars = adjusted_stars([row.p for row in self.rows])
        adjusted = [row if row.p is None else replace(row, starred=bool(star)) for row, star in zip(self.rows, stars)]
        object.__setattr__(self, "rows", adjusted)


def counts_of(rows: Iterable[ReportRow]) -> Counter[Verdict]:
    """Verdicts, each of the paper's numbers once: the least kind where it is shown several times."""
    found: dict[tuple[str, ...], list[Verdict]] = {}
    for row in rows:
        verdict = row.verdict
        if verdict is not None:
            found.setdefault(row.place, []).append(verdict)
    return Counter(least_kind(verdicts) for verdicts in found.values())


def starred(values: Sequence[float], p: Sequence[float], digits: int = 3) -> list[str]:
    """Differences of a plain table as text, with a star where the adjusted p is below 0.05.

    >>> starred([0.1234, -0.01], [0.001, 0.6])
    ['+0.123*', '-0.010']
    """
    return [f"{value:+.{digits}f}{star}" for value, star in zip(values, adjusted_stars(list(p)))]


@dataclass(frozen=True)
class PlainTable:
    """A table of ours that the paper has no counterpart for; cells are text or numbers."""

    title: str
    label: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    digits: int = 4


@dataclass(frozen=True)
class Figure:
    """A drawn figure; `name` becomes the file's name. `raster`: too many points for vectors, store as PNG."""

    name: str
    title: str
    caption: str
    figure: MatplotlibFigure = field(compare=False)
    raster: bool = False

    @property
    def file(self) -> str:
        return f"{self.name}.{'png' if self.raster else 'svg'}"


@dataclass(frozen=True)
class Headline:
    """One sentence for the first page. `held`: the paper's claim held here (None: neither). Low `rank` first."""

    text: str
    held: bool | None = None
    rank: int = 5


_OPTIONAL = {
    "95 % interval",
    "spread over seeds",
    "p",
    "note",
}  # columns that are left out where no row has anything in them


def shown_columns(table: ReportTable | PlainTable) -> list[int]:
    """Which columns of `table_header` are worth showing."""
    header, cells = table_header(table), table_cells(table)
    return [i for i, name in enumerate(header) if name not in _OPTIONAL or any(row[i] for row in cells)]


def table_header(table: ReportTable | PlainTable) -> list[str]:
    """Column names as the report shows them."""
    if isinstance(table, PlainTable):
        return list(table.columns)
    return [*table.columns, "paper", "here", "95 % interval", "spread over seeds", "p", "verdict", "note"]


def table_cells(table: ReportTable | PlainTable) -> list[list[str]]:
    """The table's cells as text."""
    if isinstance(table, PlainTable):
        return [[_text(cell, table.digits) for cell in row] for row in table.rows]
    return [_row_cells(row) for row in table.rows]


def _row_cells(row: ReportRow) -> list[str]:
    digits, signed = _format_of(row)
    star = "*" if (row.significant if row.starred is None else row.starred) else ""
    interval = _bounds(row.low, row.high, digits, signed)
    spread = "" if row.spread is None else _bounds(*row.spread, digits, signed)
    p = "" if row.p is None else pvalue_text(row.p).removeprefix("p ").removeprefix("= ")
    here = "" if row.here is None else _number(row.here, digits, signed) + star
    verdict = row.verdict.value if row.verdict is not None else ""
    return [*row.labels, _printed(row), here, interval, spread, p, verdict, row.note]


def _printed(row: ReportRow) -> str:
    """The paper's value with what it prints beside it: bounds in brackets, then p."""
    words = [row.paper.text] if row.paper is not None else []
    bounds = [value.text for value in row.beside if value.place is None or value.place[2] in ("low", "high")]
    words += [f"[{', '.join(bounds)}]"] if bounds else []
    words += [f"p {value.text}" for value in row.beside if value.place is not None and value.place[2] == "p"]
    return " ".join(words)


def _bounds(low: float | None, high: float | None, digits: int, signed: bool) -> str:
    if low is None or high is None:
        return ""
    return f"[{_number(low, digits, signed)}, {_number(high, digits, signed)}]"


def _format_of(row: ReportRow) -> tuple[int, bool]:
    """Decimals and whether to show a plus, as the paper prints its value."""
    printed = row.paper.text if row.paper is not None and row.paper.value is not None else None
    signed = printed.startswith(("+", "-")) if printed is not None else row.significant is not None
    if row.digits is not None:
        return row.digits, signed
    return (row.paper.decimals if printed is not None and row.paper is not None else 3), signed


def _number(value: float, digits: int, signed: bool) -> str:
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def _text(cell: Any, digits: int) -> str:
    if cell is None:
        return ""
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)
