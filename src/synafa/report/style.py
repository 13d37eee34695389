"""One palette, one CSS, one look of figures, for every page, report, graph and figure of the package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

# Okabe and Ito's palette: distinguishable with every common colour vision deficiency.
COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
    "grey": "#7F7F7F",
}
CYCLE = tuple(COLOURS.values())
INK, PALE = "#444444", "#BBBBBB"  # lines and words beside the data, and what stands behind it
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # shape repeats what colour says

# What matplotlib is told before a figure is drawn.
FIGURES: dict[str, Any] = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "figure.dpi": 120,
    "savefig.bbox": "tight",
    "svg.fonttype": "path",  # looks the same without our fonts
    "svg.hashsalt": "synafa",  # the same file on every run
    "pdf.fonttype": 42,
}


def css(*more: str) -> str:
    """The style sheet of every page, light and dark, followed by what a page adds."""
    base = files("synafa.report").joinpath("base.css").read_text(encoding="utf-8")
    return "\n".join([base, *more])
