"""Self-contained HTML pages: text, tables and plots in one file that can be mailed, printed and opened anywhere.

Plots are drawn by matplotlib into SVG and stand inside the page; there is no script from elsewhere and no image file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from synafa.report.style import CYCLE, MARKERS, css

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")


@dataclass(frozen=True)
class Curve:
    """A named line through (x, y) with an interval at every point."""

    name: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it, as HTML."""

    title: str
    body: str


def page(title: str, intro: str, sections: Sequence[Section]) -> str:
    """A whole HTML page; `intro` is plain text, a section's body is HTML."""
    body = "\n".join(f"<section><h2>{escape(s.title)}</h2>\n{s.body}\n</section>" for s in sections)
    return _frame(title, f"<main><h1>{escape(title)}</h1>\n{paragraphs(intro)}\n{body}\n</main>")


def graph_page(svg: str, steps: tuple[Sequence[str], Sequence[Sequence[str]]], title: str) -> str:
    """A page around a decision graph: zoom buttons, a scrolling pane, and the steps as a table below."""
    body = (
        f"<main class='wide'>{zoom_pane(svg)}\n<details><summary>The same as a table</summary>"
        f"{table_html(*steps)}</details></main>"
    )
    return _frame(title, body)


def zoom_pane(svg: str) -> str:
    """A picture in a pane that scrolls, with buttons for its size."""
    return (
        "<div class='zoom'><div class='buttons'><button data-zoom='1.25'>larger</button>"
        "<button data-zoom='0.8'>smaller</button><button data-zoom='fit'>fit width</button>"
        f"<button data-zoom='1:1'>original size</button></div><div class='pane'>{svg}</div></div>"
    )


def paragraphs(text: str) -> str:
    """Plain text as paragraphs, split at empty lines."""
    return "\n".join(f"<p>{escape(part.strip())}</p>" for part in text.split("\n\n") if part.strip())


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table; cells that look like numbers are set to the right."""
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    lines = ["".join(_cell(str(cell)) for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<div class='scroll'><table>{title}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"


def new_figure(width: float = 6.4, height: float = 3.9) -> Figure:
    """A figure outside pyplot's global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def figure_svg(figure: Figure, label: str) -> str:
    """A matplotlib figure as an inline SVG element; `label` is read out where the picture cannot be seen."""
    import matplotlib

    buffer = io.StringIO()
    # A fixed salt makes equal figures equal files; text stays text so that a reader can search and copy it.
    salt = re.sub(r"\W+", "-", label)
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    return text.replace("<svg ", f'<svg class="plot" role="img" aria-label="{escape(label)}" ', 1)


def curve_plot(curves: Sequence[Curve], xlabel: str, ylabel: str, title: str) -> str:
    """Lines with shaded intervals, as inline SVG; told apart by colour, dash and marker."""
    figure = new_figure()
    axes = figure.subplots()
    for i, curve in enumerate(curves):
        colour = CYCLE[i % len(CYCLE)]
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.13, linewidth=0)
        axes.plot(
            curve.x,
            curve.y,
            color=colour,
            linestyle=_DASHES[i % len(_DASHES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4.5,
            linewidth=1.8,
            label=curve.name,
        )
    xs = np.unique(np.concatenate([np.asarray(curve.x) for curve in curves]))
    if len(xs) <= 14:
        axes.set_xticks(xs)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, loc="left", fontsize=11)
    _plain_axes(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure_svg(figure, title)


def bar_plot(names: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], xlabel: str, title: str) -> str:
    """Stacked horizontal bars, the first name on top, as inline SVG."""
    figure = new_figure(6.8, 1.4 + 0.34 * len(names))
    axes = figure.subplots()
    start = np.zeros(len(names))
    for i, (label, values) in enumerate(parts):
        axes.barh(range(len(names)), values, left=start, color=CYCLE[i % len(CYCLE)], label=label, height=0.62)
        start = start + np.asarray(values)
    axes.set_yticks(range(len(names)), [name if len(name) < 46 else name[:45] + "…" for name in names], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.set_title(title, loc="left", fontsize=11)
    _plain_axes(axes)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=len(parts))
    return figure_svg(figure, title)


def _plain_axes(axes: object) -> None:
    axes.spines[["top", "right"]].set_visible(False)  # type: ignore[attr-defined]
    axes.grid(True, alpha=0.25)  # type: ignore[attr-defined]
    axes.set_axisbelow(True)  # type: ignore[attr-defined]


def _cell(text: str) -> str:
    number = re.fullmatch(r"[-+]?[\d,]*\.?\d+( ?%)?( ?[\[(±].*)?", text) is not None
    return f"<td class='number'>{escape(text)}</td>" if number else f"<td>{escape(text)}</td>"


def _frame(title: str, body: str) -> str:
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{css(_STYLE)}</style></head>\n<body>{body}\n<script>{_SCRIPT}</script></body></html>\n"
    )


_STYLE = """
main { max-width: 960px; margin: 0 auto; padding: 24px; }
main.wide { max-width: none; }
h2 { font-size: 1.25rem; margin: 1.8em 0 .4em; border-bottom: 1px solid var(--line); padding-bottom: .2em; }
svg.plot { max-width: 100%; height: auto; display: block; margin: .6em 0; background: #fff; border-radius: 6px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(400px, 100%), 1fr)); gap: 12px; }
table { margin: .6em 0; }
blockquote { margin: .6em 0; padding: .5em 1em; border-left: 4px solid var(--accent); background: var(--tint); }
.zoom { width: min(94vw, 1500px); margin-left: 50%; transform: translateX(-50%); }
.wide .zoom { width: auto; margin-left: 0; transform: none; }
.buttons { position: sticky; top: 0; padding: .3em 0; background: var(--page); z-index: 1; }
.buttons button { font: inherit; font-size: .85em; margin-right: .4em; padding: .2em .8em; min-height: 24px;
  border: 1px solid var(--edge); border-radius: 6px; background: var(--card); color: var(--ink); cursor: pointer; }
.pane { overflow: auto; max-height: 85vh; border: 1px solid var(--line); border-radius: 6px; background: #fff; }
details { margin-top: 1em; }
ol.steps li { margin: .5em 0; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .6em 1em; overflow-x: auto; }
.card h3 { margin: .2em 0; font-size: 1em; } .card ol { list-style: none; margin: 0; padding: 0; }
.card ol ol { margin-left: .5em; padding-left: 1em; border-left: 2px solid var(--edge); }
.card p { margin: .2em 0; } .card .when { font-weight: 600; }
.card .no { display: inline-block; min-width: 1.6em; text-align: center; border: 1px solid var(--edge);
  border-radius: 4px; margin-right: .4em; }
@media print { .zoom { width: auto; margin-left: 0; transform: none; } @page { size: A4 landscape; margin: 10mm; }
  .buttons { display: none; } .pane { overflow: visible; max-height: none; border: 0; }
  .pane svg { width: 100% !important; height: auto !important; max-height: 170mm; }
  section { break-inside: avoid; } main { max-width: none; padding: 0; } }
"""

_SCRIPT = """
for (const zoom of document.querySelectorAll('.zoom')) {
  const pane = zoom.querySelector('.pane'), svg = pane.querySelector('svg');
  const w = svg.viewBox.baseVal.width, h = svg.viewBox.baseVal.height;
  let scale = 1;
  const set = s => { scale = Math.min(6, Math.max(0.05, s)); svg.setAttribute('width', w * scale);
                     svg.setAttribute('height', h * scale); };
  const fit = () => set(Math.min(1.4, (pane.clientWidth - 4) / w));
  for (const b of zoom.querySelectorAll('button')) b.onclick = () => {
    const z = b.dataset.zoom; z === 'fit' ? fit() : z === '1:1' ? set(1) : set(scale * z); };
  pane.addEventListener('wheel', e => { if (!e.ctrlKey) return; e.preventDefault();
    set(scale * (e.deltaY < 0 ? 1.1 : 0.9)); }, {passive: false});
  if ((pane.clientWidth - 4) / w > 0.6) fit();
  const first = svg.querySelector('.box rect');
  if (first) pane.scrollTop = first.y.baseVal.value * scale - pane.clientHeight / 2;
}
"""
