"""What an experiment hands to the report: rows that stand beside the paper's, plain tables, figures and headlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synafa.study.evidence.paper import PaperValue
from synafa.study.evidence.verdict import Verdict, judge

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
    significant : ours, where the row is a difference that is tested
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
    ) -> ReportRow:
        """A difference with its interval and p-value; significant below 0.05, unadjusted, as in the paper."""
        return cls(labels, here, paper, low, high, significant=p < 0.05, note=note)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict by the stated rule; None without a paper's value."""
        if self.paper is None:
            return None
        return judge(self.here, self.paper, self.low, self.high, self.significant, self.deterministic, self.comparable)


@dataclass(frozen=True)
class ReportTable:
    """Rows beside the paper's table `label`, e.g. `physionet-clean`."""

    title: str
    label: str
    columns: tuple[str, ...]
    rows: Sequence[ReportRow]
    note: str = ""


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


_OPTIONAL = {"95 % interval", "note"}  # columns that are left out where no row has anything in them


def shown_columns(table: ReportTable | PlainTable) -> list[int]:
    """Which columns of `table_header` are worth showing."""
    header, cells = table_header(table), table_cells(table)
    return [i for i, name in enumerate(header) if name not in _OPTIONAL or any(row[i] for row in cells)]


def table_header(table: ReportTable | PlainTable) -> list[str]:
    """Column names as the report shows them."""
    if isinstance(table, PlainTable):
        return list(table.columns)
    return [*table.columns, "paper", "here", "95 % interval", "verdict", "note"]


def table_cells(table: ReportTable | PlainTable) -> list[list[str]]:
    """The table's cells as text."""
    if isinstance(table, PlainTable):
        return [[_text(cell, table.digits) for cell in row] for row in table.rows]
    return [_row_cells(row) for row in table.rows]


def _row_cells(row: ReportRow) -> list[str]:
    digits, signed = _format_of(row)
    star = "*" if row.significant else ""
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f"[{_number(row.low, digits, signed)}, {_number(row.high, digits, signed)}]"
    here = "" if row.here is None else _number(row.here, digits, signed) + star
    verdict = row.verdict.value if row.verdict is not None else ""
    return [*row.labels, row.paper.text if row.paper else "", here, interval, verdict, row.note]


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
