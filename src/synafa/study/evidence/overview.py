"""SynAFA in one drawing, the counterpart of the paper's first figure: training rows, tables, decisions, a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synafa.report.figures import new_figure
from synafa.report.style import COLOURS, INK
from synafa.study.evidence.tables import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLES = (
    ("single", "$I(X_j;Y)$"),
    ("pair", "$I(X_j,X_k;Y) = R + U_j + U_k + \\mathrm{Syn}$"),
    ("cond", "$I(Y;X_j \\mid X_k = v)$"),
)


def overview_figure() -> Figure:
    """Offline and online part of the deployed policy, with the score of each branch."""
    figure, (axes,) = new_figure(width=7.2, height=3.3)
    axes.set(xlim=(0, 100), ylim=(-5, 46))
    axes.axis("off")
    axes.grid(visible=False)
    axes.text(1, 43.5, "Before any case: three tables from training rows", weight="bold")
    _box(axes, 1, 27, 15, 13, "training rows,\ncut at their\nmedians", "grey")
    for at, (name, formula) in enumerate(_TABLES):
        _box(axes, 30, 36 - 5.5 * at, 42, 4.6, f"{name}:  {formula}", "blue")
        _arrow(axes, (16, 33.5), (30, 38.3 - 5.5 * at))
    axes.text(1, 19.5, "For one case: one feature at a time", weight="bold")
    _box(axes, 1, 4, 15, 11, "known values\n$x_S$, budget left", "grey")
    _box(axes, 25, 10.5, 33, 6, "single: best of single$_j$ and\ncond$_{j|k,x_k}$, minus $\\lambda c_j$", "orange")
    _box(
        axes, 25, 2.5, 33, 6, "unstarted pair: pair$_{jk}$ minus\n$\\lambda (c_j + c_k)$; its stronger member", "green"
    )
    _box(axes, 66, 5.5, 14, 8, "measure the\nwinner", "vermillion")
    _box(axes, 86, 5.5, 13, 8, "shared\nclassifier", "purple")
    _arrow(axes, (16, 10), (25, 13.5))
    _arrow(axes, (16, 9), (25, 5.5))
    _arrow(axes, (58, 13.5), (66, 10.2))
    _arrow(axes, (58, 5.5), (66, 8.8))
    _arrow(axes, (80, 9.5), (86, 9.5))
    _arrow(axes, (51, 24.6), (46, 16.9))
    axes.plot([73, 73, 8.5], [5.2, -1.2, -1.2], color=INK, lw=1)
    _arrow(axes, (8.5, -1.2), (8.5, 3.7))
    axes.text(40, -3.8, "one more known value", fontsize=8, ha="center")
    caption = (
        "The tables are computed once; a decision compares the best single feature with the best pair that has not "
        "been started, and measures one feature. A pair only proposes its first member."
    )
    return Figure("synafa-overview", "SynAFA in one drawing", caption, figure)


def _box(axes: Axes, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0.3,rounding_size=0.8"
    shade = COLOURS[colour]
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=shade + "22", edgecolor=shade, lw=1.2)
    )
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": INK, "lw": 1})
