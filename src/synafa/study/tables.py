"""What an experiment hands to the report: rows that stand beside the paper's, plain tables, figures and headlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synafa.study.paper import PaperValue
from synafa.study.verdict import Verdict, judge

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
    """A drawn figure; `name` becomes the file's name."""

    name: str
    title: str
    caption: str
    figure: MatplotlibFigure = field(compare=False)


@dataclass(frozen=True)
class Headline:
    """One sentence for the first page. `held`: the paper's claim held here (None: neither). Low `rank` first."""

    text: str
    held: bool | None = None
    rank: int = 5
