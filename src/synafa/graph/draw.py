"""Draws a decision graph without any other program: JSON and DOT for programs, SVG and one HTML file for people.

A box is one measurement: its name, why it is taken, how many cases come here, how the classes are split among them. An
arrow is a result of the measurement, as thick as the number of cases that take it. Time runs from left to right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from synafa.graph.layout import order_columns, place_heights
from synafa.report.style import CYCLE

if TYPE_CHECKING:
    from synafa.graph.shape import DecisionGraph

MAX_NODES = 150
_WIDTH, _GAP_Y, _HEAD, _MARGIN = 232, 26, 104, 24
_LONGEST = 34  # characters of a label on an arrow
_LINE, _PORT = 15, 44.0
_STEPS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Arrow:
    """All edges between the same two boxes, drawn as one."""

    source: Any
    target: Any
    label: str
    count: float


@dataclass(frozen=True)
class Drawing:
    """The boxes and arrows that are drawn, and a sentence for each thing that is not."""

    nodes: tuple[Any, ...]
    arrows: tuple[Arrow, ...]
    cut: tuple[str, ...]


def to_json(graph: DecisionGraph) -> str:
    """The graph as one JSON object: classes, features, nodes, edges and what was cut."""
    value = {
        "format": "synafa-graph",
        "version": 1,
        "feature_names": list(graph.feature_names),
        "classes": [_scalar(label) for label in graph.classes],
        "nodes": [
            {
                "id": node.id,
                "depth": node.depth,
                "feature": node.feature,
                "reason": node.reason,
                "count": _scalar(node.count),
                "share": float(node.share),
                "class_shares": [float(share) for share in node.class_shares],
                "remaining": float(node.remaining),
                "why": node.why,
                "stop_reason": node.stop_reason,
            }
            for node in graph.nodes
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "label": edge.label,
                "count": _scalar(edge.count),
                "result": edge.result,
            }
            for edge in graph.edges
        ],
        "cut": list(cut_sentences(graph)),
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def to_dot(graph: DecisionGraph) -> str:
    """The graph in Graphviz' language."""
    lines = ["digraph synafa {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="Helvetica"];']
    for node in graph.nodes:
        text = "\n".join([node.feature or "Stop", _reach(node), _shares_text(graph, node)])
        lines.append(f"  n{node.id} [label={_quoted(text)}, tooltip={_quoted(node.reason)}];")
    for edge in graph.edges:
        lines.append(f"  n{edge.source} -> n{edge.target} [label={_quoted(f'{edge.label} ({edge.count:,})')}];")
    lines += [f"  // {sentence}" for sentence in cut_sentences(graph)]
    return "\n".join([*lines, "}"]) + "\n"


def to_svg(graph: DecisionGraph, title: str = "Which measurement next?", max_nodes: int = MAX_NODES) -> str:
    """The graph as one SVG picture that needs no other file."""
    drawing = limit(graph, max_nodes)
    depths = sorted({node.depth for node in drawing.nodes})
    columns = [[node.id for node in drawing.nodes if node.depth == depth] for depth in depths]
    edges = [(arrow.source, arrow.target) for arrow in drawing.arrows]
    columns = order_columns(columns, edges)
    leaving: dict[Any, list[Arrow]] = {node.id: [] for node in drawing.nodes}
    for arrow in drawing.arrows:
        leaving[arrow.source].append(arrow)
    reasons = {node.id: wrap(pretty(node.reason[:1].upper() + node.reason[1:]), 35, 4) for node in drawing.nodes}
    height = {
        node.id: max(64.0 + _LINE * len(reasons[node.id]), _PORT * len(leaving[node.id])) for node in drawing.nodes
    }
    centre = place_heights(columns, edges, height, _GAP_Y)
    gap = max(148, 20 + 8 * max((len(_clip(arrow.label, _LONGEST)) for arrow in drawing.arrows), default=0))
    left = {node: _MARGIN + c * (_WIDTH + gap) for c, column in enumerate(columns) for node in column}
    width = 2 * _MARGIN + len(columns) * (_WIDTH + gap) - gap
    width = max(width, 720)
    bottom = _HEAD + max((centre[n] + height[n] / 2 for n in centre), default=0.0) + 20
    foot = [line for sentence in drawing.cut for line in wrap(sentence, width // 7, 9)]
    total = max((node.count for node in drawing.nodes), default=1) or 1
    parts = [_style(), _heading(graph, drawing, title, width)]
    for c, depth in enumerate(depths):
        x = _MARGIN + c * (_WIDTH + gap)
        parts.append(f'<text class="step" x="{x}" y="{_HEAD - 14}">{_step(graph, depth)}</text>')
    labels: list[str] = []  # above all lines
    for arrows in leaving.values():
        arrows.sort(key=lambda arrow: centre[arrow.target])
        for i, arrow in enumerate(arrows):
            port = centre[arrow.source] + (i - (len(arrows) - 1) / 2) * _PORT
            start = (left[arrow.source] + _WIDTH, _HEAD + port)
            parts.append(_line(arrow, start, (left[arrow.target], _HEAD + centre[arrow.target]), total))
            labels.append(_label(arrow, start, total))
    parts += labels
    for node in drawing.nodes:
        y = _HEAD + centre[node.id] - height[node.id] / 2
        parts.append(_box(graph, node, reasons[node.id], left[node.id], y, height[node.id]))
        hidden = node.count - sum(arrow.count for arrow in leaving[node.id])
        if node.feature and hidden:
            parts.append(_rest(hidden, left[node.id] + _WIDTH, y + height[node.id], not leaving[node.id]))
    for i, line in enumerate(foot):
        parts.append(f'<text class="cut" x="{_MARGIN}" y="{bottom + 14 + 16 * i:.0f}">{escape(line)}</text>')
    whole = bottom + 16 * len(foot) + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="synafa-graph" width="{width}" height="{whole:.0f}" '
        f'viewBox="0 0 {width} {whole:.0f}" role="img" aria-label="{escape(title)}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def to_html(graph: DecisionGraph, title: str = "Which measurement next?", max_nodes: int = MAX_NODES) -> str:
    """A page with the picture (zoom, scroll, print) and the same content as a table."""
    from synafa.report.page import graph_page

    return graph_page(to_svg(graph, title, max_nodes), steps_table(graph), title)


def steps_table(graph: DecisionGraph) -> tuple[list[str], list[list[str]]]:
    """The graph in words: header and one row per box, most visited first within a step."""
    arriving: dict[Any, list[str]] = {}
    for edge in graph.edges:
        arriving.setdefault(edge.target, []).append(pretty(edge.label))
    rows = [
        [
            str(node.depth + 1),
            " or ".join(dict.fromkeys(arriving.get(node.id, ["start"]))),
            node.feature or "stop",
            pretty(node.reason),
            f"{node.count:,} ({_percent(node.share)})",
            _shares_text(graph, node),
        ]
        for node in sorted(graph.nodes, key=lambda node: (node.depth, -node.count))
    ]
    return ["step", "after", "measure", "why", "cases", "classes among them"], rows


def limit(graph: DecisionGraph, max_nodes: int) -> Drawing:
    """The most visited boxes that can still be reached from the start, and what that left out."""
    nodes = {node.id: node for node in graph.nodes}
    ranked = sorted(graph.nodes, key=lambda node: (node.depth > 0, -node.count, node.depth))
    wanted = {node.id for node in ranked[: max(max_nodes, 1)]}
    reached = {node.id for node in graph.nodes if node.depth == min(n.depth for n in graph.nodes)} & wanted
    for edge in sorted(graph.edges, key=lambda edge: nodes[edge.source].depth):
        if edge.source in reached and edge.target in wanted:
            reached.add(edge.target)
    cut = cut_sentences(graph)
    if len(reached) < len(graph.nodes):
        cut += (
            f"The picture shows the {len(reached)} most visited of {len(graph.nodes)} states; "
            "the JSON and DOT files hold all of them.",
        )
    joined: dict[tuple[Any, Any], list[Any]] = {}
    for edge in graph.edges:
        if edge.source in reached and edge.target in reached:
            joined.setdefault((edge.source, edge.target), []).append(edge)
    everything = {node: sum(edge.source == node for edge in graph.edges) for node in reached}
    arrows = tuple(
        Arrow(
            source,
            target,
            "any result"
            if 1 < len(group) == everything[source]
            else " or ".join(pretty(edge.result) for edge in group),
            sum(edge.count for edge in group),
        )
        for (source, target), group in joined.items()
    )
    return Drawing(tuple(node for node in graph.nodes if node.id in reached), arrows, cut)


def pretty(text: str) -> str:
    """Comparison signs as people write them."""
    return f" {text}".replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")[1:]


def class_name(label: Any) -> str:
    """A class as a reader meets it: `died`, but `class 1` for a bare number."""
    text = str(label)
    return f"class {text}" if text.replace(".", "", 1).lstrip("-").isdigit() or isinstance(label, bool) else text


def wrap(text: str, width: int, lines: int) -> list[str]:
    """Words filled into at most `lines` lines of about `width` characters, the rest as an ellipsis."""
    result: list[str] = []
    for word in text.split():
        if result and len(result[-1]) + 1 + len(word) <= width:
            result[-1] += " " + word
        else:
            result.append(_clip(word, width))
    if len(result) > lines:
        result = [*result[: lines - 1], _clip(result[lines - 1] + " …", width + 2)]
    return result


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _box(graph: DecisionGraph, node: Any, reason: Sequence[str], x: float, y: float, height: float) -> str:
    kind = "box" if node.feature else "box stop"
    name = node.feature or "Stop"
    parts = [
        f'<g class="{kind}"><title>{escape(f"{name}: {node.reason} {_reach(node)}")}</title>',
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_WIDTH}" height="{height:.1f}" rx="{8 if node.feature else 16}"/>',
        f'<text class="name" x="{x + 12:.1f}" y="{y + 22:.1f}">{escape(_clip(name, 24))}</text>',
    ]
    for i, line in enumerate(reason):
        parts.append(f'<text class="why" x="{x + 12:.1f}" y="{y + 39 + _LINE * i:.1f}">{escape(line)}</text>')
    start, bar = x + 12, _WIDTH - 24
    top = y + 36 + _LINE * len(reason)
    for i, share in enumerate(node.class_shares):
        length = bar * float(share)
        if length > 0.2:
            at = f'x="{start:.1f}" y="{top:.1f}" width="{length:.1f}" height="7"'
            parts.append(f'<rect class="share" {at} fill="{CYCLE[i % len(CYCLE)]}"/>')
        start += length
    likely = max(range(len(node.class_shares)), key=lambda i: node.class_shares[i], default=None)
    if likely is not None:
        words = _clip(f"{_percent(node.class_shares[likely])} {class_name(graph.classes[likely])}", 20)
        parts.append(f'<text class="small" x="{x + 12:.1f}" y="{top + 19:.1f}">{escape(words)}</text>')
    reach = f"{_percent(node.share)} of cases"
    parts.append(f'<text class="reach" x="{x + _WIDTH - 12:.1f}" y="{top + 19:.1f}">{reach}</text>')
    return "".join(parts) + "</g>"


def _line(arrow: Arrow, start: tuple[float, float], end: tuple[float, float], total: float) -> str:
    (x1, y1), (x2, y2) = start, end
    bend = x1 + (x2 - x1) * 0.62  # straight under the label, then across
    return (
        f'<g class="edge"><title>{escape(f"{arrow.label}: {arrow.count:,} cases")}</title>'
        f'<path d="M{x1:.1f},{y1:.1f} C{bend:.1f},{y1:.1f} {bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}" '
        f'stroke-width="{_thickness(arrow, total):.1f}"/></g>'
    )


def _label(arrow: Arrow, start: tuple[float, float], total: float) -> str:
    (x, y), half = start, _thickness(arrow, total) / 2
    return (
        f'<text class="result" x="{x + 8:.1f}" y="{y - half - 4:.1f}">{escape(_clip(arrow.label, _LONGEST))}</text>'
        f'<text class="n" x="{x + 8:.1f}" y="{y + half + 11:.1f}">{arrow.count:,}</text>'
    )


def _thickness(arrow: Arrow, total: float) -> float:
    return 1.2 + 9 * arrow.count / total


def _rest(hidden: int, right: float, bottom: float, all_of_them: bool) -> str:
    """Under a box: how many of its cases go on to states that are not drawn."""
    words = f"{hidden:,} go on, not shown" if all_of_them else f"{hidden:,} more go on, not shown"
    return f'<text class="rest" x="{right - 2:.1f}" y="{bottom + 13:.1f}">{words}</text>'


def _heading(graph: DecisionGraph, drawing: Drawing, title: str, width: float) -> str:
    rows = max((node.count for node in drawing.nodes), default=0)
    parts = [
        f'<rect width="100%" height="100%" fill="#fff"/><text class="title" x="{_MARGIN}" y="34">{escape(title)}</text>'
    ]
    x = float(_MARGIN)
    words = f"{rows:,} training cases; a bar shows their classes:"
    parts.append(f'<text class="legend" x="{x}" y="58">{escape(words)}</text>')
    x += 7.0 * len(words)
    for i, label in enumerate(graph.classes):
        if x > width - 120:
            parts.append(f'<text class="legend" x="{x:.0f}" y="58">and {len(graph.classes) - i} more</text>')
            break
        text = _clip(class_name(label), 18)
        parts.append(
            f'<rect x="{x:.0f}" y="48" width="12" height="12" rx="2" fill="{CYCLE[i % len(CYCLE)]}"/>'
            f'<text class="legend" x="{x + 17:.0f}" y="58">{escape(text)}</text>'
        )
        x += 34 + 7.5 * len(text)
    return "".join(parts)


def _style() -> str:
    return (
        "<style>.synafa-graph{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;background:#fff}"
        ".synafa-graph text{fill:#1d2733}.synafa-graph .title{font-size:20px;font-weight:650}"
        ".synafa-graph .legend,.synafa-graph .cut{font-size:13px;fill:#4a5665}"
        ".synafa-graph .step{font-size:12px;fill:#4a5665;letter-spacing:.04em;text-transform:uppercase}"
        ".synafa-graph .box>rect:first-of-type{fill:#f7f9fb;stroke:#8fa1b3}"
        ".synafa-graph .stop>rect:first-of-type{fill:#eef0f2;stroke:#b4bcc5;stroke-dasharray:4 3}"
        ".synafa-graph .name{font-size:15px;font-weight:650}"
        ".synafa-graph .reach{font-size:11px;font-weight:600;text-anchor:end}"
        ".synafa-graph .why{font-size:11.5px;fill:#4a5665}.synafa-graph .small{font-size:11px;fill:#4a5665}"
        ".synafa-graph .rest{font-size:11px;font-style:italic;fill:#4a5665;text-anchor:end}"
        ".synafa-graph .edge path{fill:none;stroke:#b9c6d3;stroke-linecap:butt}"
        ".synafa-graph .result{font-size:12.5px;font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px}"
        ".synafa-graph .n{font-size:11px;fill:#4a5665;paint-order:stroke;stroke:#fff;stroke-width:3px}</style>"
    )


def cut_sentences(graph: DecisionGraph) -> tuple[str, ...]:
    """What the graph itself left out, as a tuple of sentences."""
    cut = graph.cut
    return ((cut,) if cut else ()) if isinstance(cut, str) else tuple(str(sentence) for sentence in cut or ())


def _step(graph: DecisionGraph, depth: int) -> str:
    """What happens in a column; a first box that is no feature stands for what is known before any measurement."""
    if not any(node.feature for node in graph.nodes if node.depth == depth):
        return "the end"
    if any(node.depth == 0 and node.feature and node.feature not in graph.feature_names for node in graph.nodes):
        if depth == 0:
            return "at the start"
        depth -= 1
    return f"{_STEPS[depth]} measurement" if depth < len(_STEPS) else f"measurement {depth + 1}"


def _reach(node: Any) -> str:
    return f"{node.count:,} cases ({_percent(node.share)})"


def _shares_text(graph: DecisionGraph, node: Any) -> str:
    return ", ".join(
        f"{class_name(label)}: {_percent(share)}" for label, share in zip(graph.classes, node.class_shares)
    )


def _percent(share: float) -> str:
    """Whole per cent, one decimal below ten, and never `0 %` for something that happens."""
    value = 100 * float(share)
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def _scalar(value: Any) -> Any:
    """A NumPy scalar as a plain one."""
    return value.item() if hasattr(value, "item") else value


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
