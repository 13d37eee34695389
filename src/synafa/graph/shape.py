"""A policy as a finite graph: nodes are states of knowledge, edges results of a measurement. It can draw itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from synafa.wording import worded

MAX_DEPTH, MIN_SHARE = 5, 0.01  # how much of a policy is shown unless something else is asked for
_IN_NOTEBOOK = 40  # states


@dataclass(frozen=True)
class Node:
    """A state: what is measured next (None: nothing), why, and the training rows that come here.

    `depth` is the number of measurements before it, `share` the part of all rows, `class_shares` one a class; `reason`
    is in words what `why` and `stop_reason` are as in a `Recommendation`.
    """

    id: int
    depth: int
    feature: str | None
    reason: str
    count: int
    share: float
    class_shares: tuple[float, ...]
    remaining: float
    why: str | None = None
    stop_reason: str | None = None


@dataclass(frozen=True)
class Edge:
    """A result of the source's measurement that leads to the target, and the training rows that have it.

    `label` is whole, `GCS <= 11.5`; `result` is for a place where the measurement's name stands already, `<= 11.5`.
    """

    source: int
    target: int
    label: str
    count: int
    result: str


@dataclass(frozen=True)
class DecisionGraph:
    """A policy as a finite graph: nodes are states of knowledge, edges results of a measurement.

    Attributes
    ----------
    nodes : tuple of Node
        In order of depth; each with the next measurement, the reason and its training rows.
    edges : tuple of Edge
        Results that lead from one node to another.
    classes : tuple
        Class labels.
    feature_names : tuple of str
        All features.
    cut : tuple of str, default=()
        A sentence for each thing that was cut off.

    Examples
    --------
    >>> import numpy as np
    >>> from synafa import SynAFA
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]] * 10)
    >>> graph = SynAFA(budget=1).fit(X, X[:, 0].astype(int)).decision_graph()
    >>> [node.feature for node in graph.nodes], [edge.result for edge in graph.edges]
    (['x0', None], ['<= 0.5', '> 0.5'])
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    classes: tuple[Any, ...]
    feature_names: tuple[str, ...]
    cut: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        """Write the graph as one JSON object.

        Returns
        -------
        str
            Classes, features, nodes, edges and what was cut.
        """
        return self._written("to_json")

    def to_dot(self) -> str:
        """Write the graph in Graphviz' language.

        Returns
        -------
        str
            A `digraph`.
        """
        return self._written("to_dot")

    @worded
    def to_svg(self, title: str = "Which measurement next?") -> str:
        """Draw the graph as an SVG picture.

        {drawn}
        """
        return self._written("to_svg", title)

    @worded
    def to_html(self, title: str = "Which measurement next?") -> str:
        """Make an HTML page with the drawing and the steps as a table.

        {drawn}
        """
        return self._written("to_html", title)

    def _repr_html_(self) -> str:
        """The drawing of the most visited states, for a notebook."""
        return f'<div style="overflow-x:auto">{self._written("to_svg", max_nodes=_IN_NOTEBOOK)}</div>'

    def _written(self, how: str, *words: str, **limits: int) -> str:
        from synafa.graph import draw

        return getattr(draw, how)(self, *words, **limits)
