"""How figures are drawn: labelled axes, the house's colours, vector output that is the same on every run."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.report.style import CYCLE, FIGURES, INK, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def house_style() -> Iterator[None]:
    """The style, for the time of a `with` block."""
    import matplotlib as mpl
    from cycler import cycler

    settings: Any = {**FIGURES, "axes.prop_cycle": cycler(color=CYCLE)}
    with mpl.rc_context(settings):
        yield


def new_figure(columns: int = 1, rows: int = 1, width: float = 3.4, height: float = 2.6) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` x `columns` panels, each `width` x `height` inches; no window, no global state."""
    from matplotlib.figure import Figure as MatplotlibFigure

    with house_style():
        figure = MatplotlibFigure(figsize=(width * columns, height * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        return figure, list(np.ravel(panels))


def line_with_interval(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    label: str = "",
    index: int = 0,
    band: bool = False,
) -> None:
    """A line with markers and its intervals, as bars or as a band; colour and marker by `index`."""
    colour, marker = CYCLE[index % len(CYCLE)], MARKERS[index % len(MARKERS)]
    axes.plot(x, y, color=colour, marker=marker, label=label, lw=1.5, ms=5)
    if low is None or high is None:
        return
    if band:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
    else:
        below, above = np.subtract(y, low), np.subtract(high, y)
        axes.errorbar(x, y, yerr=np.clip([below, above], 0, None), fmt="none", ecolor=colour, capsize=2.5, lw=1)


def zero_line(axes: Axes) -> None:
    """A thin line at no difference."""
    axes.axhline(0.0, color=INK, lw=0.8, zorder=1)


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG without a date, so that the same figure is the same file."""
    return _saved(figure, "svg", metadata={"Date": None, "Creator": None})


def png_bytes(figure: Figure, dpi: int = 160) -> bytes:
    """The figure as PNG, for figures with many thousand points."""
    return _saved(figure, "png", dpi=dpi, metadata={"Software": None})


def _saved(figure: Figure, kind: str, **more: Any) -> bytes:
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format=kind, facecolor="white", **more)
    return buffer.getvalue()
