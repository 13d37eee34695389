"""A decision graph is drawn completely, or says what is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synafa.graph.draw import class_name, limit, pretty, to_dot, to_html, to_json, to_svg, wrap
from synafa.graph.layout import crossings, order_columns, place_heights, spread
from synafa.graph.shape import DecisionGraph, Edge, Node
from synafa.policy.graph import build_graph
from synafa.policy.synafa import SynAFA

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (600, 4))
    labels = np.where(bits[:, 1] ^ bits[:, 3], "died", "lived")
    frame = pl.DataFrame({"age": bits[:, 0], "GCS <1>": bits[:, 1], 'the "HR" & more': bits[:, 2], "PaO2": bits[:, 3]})
    return SynAFA(budget=3).fit(frame, labels).decision_graph()


def texts(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_is_valid_and_names_every_feature_and_class(graph):
    shown = texts(to_svg(graph))
    for node in graph.nodes:
        assert (node.feature or "Stop") in shown
    assert {"died", "lived"} <= set(shown)


def test_a_column_where_every_case_stops_is_no_measurement(graph):
    steps = [text for text in texts(to_svg(graph)) if text.endswith(" measurement") or text == "the end"]
    asking = {node.depth for node in graph.nodes if node.feature}
    assert steps == ["first measurement", "second measurement", "the end"]
    assert asking == {0, 1}


def test_names_with_markup_stay_text(graph):
    ElementTree.fromstring(to_svg(graph, title='<script>alert("x")</script> & more'))
    page = to_html(graph, title="<script>x</script>")
    assert "<script>x</script>" not in page
    assert "GCS &lt;1&gt;" in page


def test_the_page_loads_nothing_from_elsewhere(graph):
    page = to_html(graph)
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)
    assert page.count("http") == page.count("http://www.w3.org/2000/svg")


def test_json_holds_every_state_and_result(graph):
    value = json.loads(to_json(graph))
    assert len(value["nodes"]) == len(graph.nodes)
    assert [edge["count"] for edge in value["edges"]] == [edge.count for edge in graph.edges]
    assert value["classes"] == ["died", "lived"]
    assert sum(value["nodes"][0]["class_shares"]) == pytest.approx(1)


def test_dot_escapes_quotes_and_has_one_line_per_edge(graph):
    dot = to_dot(graph)
    assert dot.count(" -> ") == len(graph.edges)
    assert 'the "HR"' not in dot


def test_boxes_do_not_overlap(graph):
    boxes = [
        tuple(float(group.find(f"{SVG}rect").get(key)) for key in ("x", "y", "width", "height"))
        for group in ElementTree.fromstring(to_svg(graph)).iter(f"{SVG}g")
        if group.get("class", "").startswith("box")
    ]
    assert len(boxes) == len(graph.nodes)
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, s, t in boxes[:i]:
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y


def chain(width):
    nodes = [Node(0, 0, "a", "why", width, 1.0, (1.0,), 2.0)]
    nodes += [Node(i, 1, None, "done", 1, 1 / width, (1.0,), 1.0) for i in range(1, width + 1)]
    edges = [Edge(0, i, f"a = {i}", 1, f"= {i}") for i in range(1, width + 1)]
    return DecisionGraph(tuple(nodes), tuple(edges), ("y",), ("a",), ("Something was cut.",))


def test_a_large_graph_is_limited_and_says_so():
    drawing = limit(chain(400), 50)
    assert len(drawing.nodes) == 50
    assert drawing.cut[0] == "Something was cut."
    assert "50 most visited of 401" in drawing.cut[1]
    svg = to_svg(chain(400), max_nodes=50)
    assert any("351 more go on, not shown" in text for text in texts(svg))
    assert any("Something was cut." in text for text in texts(svg))


def test_results_with_the_same_consequence_are_one_arrow():
    graph = chain(2)
    same = replace(graph, nodes=graph.nodes[:2], edges=tuple(replace(edge, target=1) for edge in graph.edges))
    (arrow,) = limit(same, 10).arrows
    assert (arrow.label, arrow.count) == ("any result", 2)


@pytest.mark.parametrize("name", ["GCS", "a <= b", "3 < GCS <= 11"])
def test_an_arrow_does_not_repeat_the_name_of_its_box(name):
    X = np.tile(np.arange(6.0), 50)[:, None]
    rule = SynAFA(n_bins=3).fit(pl.DataFrame(X, schema=[name]), X[:, 0] > 2).rule_
    graph = build_graph(rule, rule.codes(X), (X[:, 0] > 2).astype(int), 6, 0)
    labels = {edge.label: edge.result for edge in graph.edges}
    cuts = [f"{edge:.4g}" for edge in rule.edges[0]]
    assert labels == {
        f"{name} <= {cuts[0]}": f"<= {cuts[0]}",
        f"{cuts[0]} < {name} <= {cuts[1]}": f"{cuts[0]} to {cuts[1]}",
        f"{name} > {cuts[1]}": f"> {cuts[1]}",
    }
    for edge in graph.edges:
        (arrow,) = limit(replace(graph, edges=(edge,)), 10).arrows
        assert arrow.label == pretty(edge.result)


def test_comparison_signs_are_pretty_and_names_stay():
    assert pretty("<= 11.5") == "≤ 11.5"
    assert pretty("given GCS <= 11.5, it") == "given GCS ≤ 11.5, it"
    assert pretty("x<=3 >= 2") == "x<=3 ≥ 2"


def test_a_class_that_is_a_bare_number_is_called_a_class():
    assert [class_name(label) for label in (0, "1", 2.0, "died")] == ["class 0", "class 1", "class 2.0", "died"]


def test_long_reasons_end_in_an_ellipsis():
    lines = wrap("word " * 100, 20, 3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert wrap("short", 20, 3) == ["short"]


def test_two_crossing_edges_are_untangled():
    columns, edges = [[0, 1], [2, 3]], [(0, 3), (1, 2)]
    assert crossings(columns, edges) == 1
    assert crossings(order_columns(columns, edges), edges) == 0


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(1, 50)), min_size=1, max_size=12))
def test_spread_keeps_the_order_and_the_gap_and_moves_nothing_without_need(wanted):
    targets, heights = [w for w, _ in wanted], [h for _, h in wanted]
    centres = spread(targets, heights, 5.0)
    for i in range(1, len(centres)):
        assert centres[i] - centres[i - 1] >= heights[i] / 2 + heights[i - 1] / 2 + 5 - 1e-6
    apart = [i * 1000.0 for i in range(len(heights))]
    assert spread(apart, heights, 5.0) == pytest.approx(apart)


def test_heights_start_at_the_top():
    centre = place_heights([[0], [1, 2, 3]], [(0, 1), (0, 2), (0, 3)], {i: 10.0 for i in range(4)}, 5.0)
    assert min(centre.values()) == pytest.approx(5.0)
    assert centre[0] == pytest.approx(centre[2])
