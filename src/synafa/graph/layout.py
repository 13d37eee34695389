"""Places the nodes of a layered graph: columns by depth, an order in each column that crosses few edges, then heights.

The order comes from repeated barycentre sweeps. The heights are the ones closest to the neighbours' mean height that
keep the order and a minimum gap, which is an isotonic regression solved by pooling adjacent violators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", int, str)

_SWEEPS = 12


def order_columns(columns: Sequence[Sequence[Node]], edges: Sequence[tuple[Node, Node]]) -> list[list[Node]]:
    """Each column's nodes in an order with few crossings; the best of all sweeps is kept."""
    forward, backward = neighbours(edges)
    current = [list(column) for column in columns]
    best, fewest = [list(column) for column in current], crossings(current, edges)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for column in current if down else reversed(current):
            place = {node: i for other in current for i, node in enumerate(other)}
            near = backward if down else forward
            column.sort(key=lambda node: (_mean([place[n] for n in near.get(node, [])], place[node]), place[node]))
        count = crossings(current, edges)
        if count < fewest:
            best, fewest = [list(column) for column in current], count
    return best


def crossings(columns: Sequence[Sequence[Node]], edges: Sequence[tuple[Node, Node]]) -> int:
    """How many pairs of edges between the same two columns cross."""
    place = {node: (c, i) for c, column in enumerate(columns) for i, node in enumerate(column)}
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, target in edges:
        (c, i), (d, j) = place[source], place[target]
        groups.setdefault((c, d), []).append((i, j))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0 for group in groups.values() for k, a in enumerate(group) for b in group[:k]
    )


def place_heights(
    columns: Sequence[Sequence[Node]], edges: Sequence[tuple[Node, Node]], height: Mapping[Node, float], gap: float
) -> dict[Node, float]:
    """The centre height of every node, all at least 0 from the top, ordered as in its column and `gap` apart."""
    forward, backward = neighbours(edges)
    centre: dict[Node, float] = {}
    for column in columns:
        y = 0.0
        for node in column:
            centre[node] = y + height[node] / 2
            y += height[node] + gap
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 else list(reversed(columns)):
            wanted = [
                _mean([centre[n] for n in backward.get(node, []) + forward.get(node, [])], centre[node])
                for node in column
            ]
            centre.update(zip(column, spread(wanted, [height[node] for node in column], gap)))
    top = min((centre[node] - height[node] / 2 for node in centre), default=0.0)
    return {node: y - top for node, y in centre.items()}


def spread(wanted: Sequence[float], heights: Sequence[float], gap: float) -> list[float]:
    """The centres closest to `wanted` (least squares) that keep the order without overlap."""
    offset, offsets = 0.0, []
    for i, height in enumerate(heights):
        offset += height / 2 + (gap + heights[i - 1] / 2 if i else 0.0)
        offsets.append(offset)
    blocks: list[list[float]] = []  # [mean, size], means ascending
    for want, offset in zip(wanted, offsets):
        blocks.append([want - offset, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, size = blocks.pop()
            total = blocks[-1][1] + size
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * size) / total, total]
    shifts = [mean for mean, size in blocks for _ in range(int(size))]
    return [shift + offset for shift, offset in zip(shifts, offsets)]


def neighbours(edges: Sequence[tuple[Node, Node]]) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    """Successors and predecessors of every node."""
    forward: dict[Node, list[Node]] = {}
    backward: dict[Node, list[Node]] = {}
    for source, target in edges:
        forward.setdefault(source, []).append(target)
        backward.setdefault(target, []).append(source)
    return forward, backward


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
