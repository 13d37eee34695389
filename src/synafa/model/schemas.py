"""What the parts of a saved SynAFA must be, declared for `synafa.model.validation`; `plan_schemas` has the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.model.validation import (
    Array,
    InvalidModelError,
    Schema,
    Sizes,
    Value,
    finite_number,
    flag,
    is_text,
    number,
    register,
    text,
    whole,
)
from synafa.money.prices import PriceList

BITS: dict[str, Any] = {
    "low": -1e-6,
    "high": 64.0,
}  # information: rounding below zero is harmless, and no class needs 64 bits
MOST_FEATURES, _MOST_BINS, LARGEST = 1_000_000, 16, 1e300


def check_columns(value: Any) -> str | None:
    """Why a description of the table's columns is none."""
    if not isinstance(value, list) or not value:
        return "is not a list of columns"
    for column in value:
        if not isinstance(column, dict) or set(column) != {"name", "kind", "categories", "fill"}:
            return "holds a column without name, kind, categories and fill"
        if not is_text(column["name"]) or column["kind"] not in ("number", "text"):
            return "holds a column whose name or kind is wrong"
        categories, fill = column["categories"], finite_number(column["fill"])
        if not isinstance(categories, list) or not all(map(is_text, categories)):
            return f"holds categories of {column['name']!r} that are not texts"
        if len(set(categories)) < len(categories) or (column["kind"] == "number" and categories):
            return f"holds categories of {column['name']!r} twice, or for a number"
        if fill is None or abs(fill) > LARGEST:
            return f"holds a fill value of {column['name']!r} that is not a finite number"
        if column["kind"] == "text" and fill not in range(max(len(categories), 1)):
            return f"holds a fill value of {column['name']!r} that is none of its categories"
    names = [column["name"] for column in value]
    return "holds two columns of the same name" if len(set(names)) < len(names) else None


def check_classes(value: Any) -> str | None:
    """Why a list of classes is none."""
    if not isinstance(value, list) or len(value) < 2:
        return "is not a list of at least two classes"
    texts = sum(map(is_text, value))
    truths = sum(isinstance(label, bool) for label in value)
    numbers = sum(finite_number(label) is not None for label in value)
    if len(value) not in (texts, truths, numbers):
        return "holds classes that are not all texts or all numbers"
    if texts and any("\0" in label for label in value):
        return "holds a class with a zero character"
    if numbers and any(isinstance(label, int) and not -(2**63) <= label < 2**63 for label in value):
        return "holds a class beyond 64 bits"
    return "holds a class twice" if len(set(value)) < len(value) else None


def _check_prices(value: Any) -> str | None:
    """Why a stored price list is none."""
    try:
        PriceList.from_meta(value)
    except (SynafaError, KeyError, TypeError, ValueError, OverflowError):
        return "is not a price list"
    return None


def _rule_fits(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    if len(meta["columns"]) != sizes["D"]:
        raise InvalidModelError(f"'columns' describes {len(meta['columns'])} columns of {sizes['D']}")
    edges = arrays["edges"]
    if (edges[:, 1:] < edges[:, :-1]).any():
        raise InvalidModelError("'edges' does not ascend")
    names = [column["name"] for column in meta["columns"]]
    if "prices" in meta and list(meta["prices"]["feature_names"]) != names:
        raise InvalidModelError("'prices' does not fit the columns")


def _training_fits(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    if meta["n_bins"] != sizes["bins"]:
        raise InvalidModelError(f"'n_bins' is {meta['n_bins']}, but the tables have {sizes['bins']} bins")
    if len(meta["classes"]) != sizes["K"]:
        raise InvalidModelError(f"'classes' names {len(meta['classes'])} classes of {sizes['K']}")
    graph, nodes, edges = meta["graph"], sizes["nodes"], sizes["edges"]
    for name in (*_NODE_TEXTS, *_EDGE_TEXTS):
        if len(graph[name]) != (nodes if name in _NODE_TEXTS else edges):
            raise InvalidModelError(f"'graph' has a list {name!r} of a wrong length")
    source, target, depth = arrays["graph_source"], arrays["graph_target"], arrays["graph_depth"]
    if edges and ((source >= target) | (target >= nodes)).any():
        raise InvalidModelError("'graph_source' and 'graph_target' do not lead from state to later state")
    if (np.diff(depth) < 0).any() or depth[0] != 0 or sizes["depths"] < int(depth.max()) + 1:
        raise InvalidModelError("'graph_depth' does not ascend from 0")
    counted = arrays["graph_classes"]
    if counted[0].sum() != graph["rows"] or (counted > counted[0]).any():
        raise InvalidModelError("'graph_classes' does not count the rows that there are")


_NODE_TEXTS, _EDGE_TEXTS = ("feature", "reason", "why", "stop_reason"), ("label", "result")
_MOST_ROWS = 2**40


def _check_graph(value: Any) -> str | None:
    """Why the words of a stored decision graph are none."""
    if not isinstance(value, dict) or set(value) != {*_NODE_TEXTS, *_EDGE_TEXTS, "depth", "share", "deep", "rows"}:
        return "is not the description of a decision graph"
    for name in (*_NODE_TEXTS, *_EDGE_TEXTS):
        may_lack = name in ("feature", "why", "stop_reason")
        words = value[name]
        if not isinstance(words, list) or not all(is_text(word) or (may_lack and word is None) for word in words):
            return f"has a list {name!r} that holds more than texts"
    for name, low, high in (("depth", 1, 1000), ("deep", 0, _MOST_ROWS), ("rows", 1, _MOST_ROWS)):
        problem = whole(low, high).check(value[name])
        if problem is not None:
            return f"has a value {name!r} that {problem}"
    problem = number(0.0, 1.0).check(value["share"])
    return None if problem is None else f"has a value 'share' that {problem}"


RULE_ARRAYS = {
    "single": Array("f8", ("D",), **BITS),
    "costs": Array("f8", ("D",), 0.0, LARGEST),
    "edges": Array("f8", ("D", "bins-1"), infinity=True),
    "known": Array("b", ("D",)),
    "unavailable": Array("b", ("D",)),
}
RULE = Schema(
    arrays={
        **RULE_ARRAYS,
        "pair": Array("f8", ("D", "D"), **BITS),
        "cond": Array("f8", ("D", "D", "bins"), **BITS),
    },
    values={
        "columns": Value(check_columns),
        "classes": Value(check_classes),
        "budget": number(0.0, LARGEST),
        "cost_weight": number(0.0, LARGEST),
        "pair_branch": flag(),
        "affordability": text(("deployed", "pairs", "strict")),
        "target": text(),
        "prices": Value(_check_prices, optional=True),
    },
    sizes={"D": (1, MOST_FEATURES), "bins": (2, _MOST_BINS)},
    checks=(_rule_fits,),
)
TRAINING = Schema(
    arrays={
        "specific": Array("f8", ("K", "D"), -1e-6, 1e6),
        "class_counts": Array("iu", ("K",), 0),
        "graph_depth": Array("i4", ("nodes",), 0, 2000),
        "graph_classes": Array("i8", ("nodes", "K"), 0, _MOST_ROWS),
        "graph_remaining": Array("f8", ("nodes",), -LARGEST, LARGEST),
        "graph_source": Array("i4", ("edges",), 0),
        "graph_target": Array("i4", ("edges",), 0),
        "graph_passing": Array("i8", ("edges",), 0, _MOST_ROWS),
        "graph_rare": Array("i8", ("depths",), 0, _MOST_ROWS),
    },
    values={"n_bins": whole(2, _MOST_BINS), "graph": Value(_check_graph), "missing_cells": flag(optional=True)},
    sizes={"nodes": (1, 1_000_000), "K": (2, 65_536)},
    checks=(_training_fits,),
)
register("policy", "rule", RULE)
register("policy", "training", TRAINING)
