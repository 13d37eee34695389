"""What the parts of a saved plan tree, predictor and classifier must be, declared for `synafa.model.validation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.model.schemas import LARGEST, MOST_FEATURES, check_classes, check_columns
from synafa.model.validation import Array, InvalidModelError, Schema, Sizes, Value, flag, number, register, text, whole
from synafa.money.errors import ErrorCosts
from synafa.money.stops import StopRule

WEIGHT = 1e6  # of a network: products of three of them stay far from the largest float32
_NODE, _ITEM, _FEATURE = ("N",), ("L",), ("D",)


def _number(shape: tuple[str | int, ...], infinity: bool = False) -> Array:
    return Array("f8", shape, -LARGEST, None if infinity else LARGEST, infinity)


def _error_costs(value: Any) -> str | None:
    if value is None:
        return None
    try:
        ErrorCosts.from_meta(value)
    except (SynafaError, KeyError, TypeError, ValueError, OverflowError):
        return "is not a table of error costs"
    return None


def _stop(value: Any) -> str | None:
    if value is None:
        return None
    try:
        StopRule.from_meta(value)
    except (SynafaError, KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return "is not a stop rule"
    return None


def _budget(value: Any) -> str | None:
    return None if value is None else number(0.0, LARGEST).check(value)


def _predictor(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict) else "is not the description of a predictor"


def _fits(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    if len(meta["columns"]) != sizes["D"]:
        raise InvalidModelError(f"'columns' describes {len(meta['columns'])} columns of {sizes['D']}")
    if len(meta["classes"]) != sizes["K"]:
        raise InvalidModelError(f"'classes' names {len(meta['classes'])} classes of {sizes['K']}")
    if (arrays["prices_price_in_group"] > arrays["prices_price"]).any():
        raise InvalidModelError("'prices_price_in_group' exceeds the price")
    if not np.diagonal(arrays["prices_reveals"]).all():
        raise InvalidModelError("'prices_reveals' has a feature that does not reveal itself")


def _predicts(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    """What the predictor looks up is there, and what it divides by is not 0."""
    columns = np.sort(np.concatenate([arrays["basis.numbers"], arrays["basis.texts"]]))
    if not np.array_equal(columns, np.arange(len(columns))):
        raise InvalidModelError("'basis.numbers' and 'basis.texts' do not name every column once")
    for name, end in (("basis.slot_start", sizes["slots"]), ("basis.level_start", sizes["levels"])):
        starts = arrays[name]
        if starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > end:
            raise InvalidModelError(f"{name!r} does not divide what it divides")
    widths = np.diff(arrays["basis.slot_start"])
    if (widths < 1).any():
        raise InvalidModelError("'basis.slot_start' leaves a column without a slot")
    of_column = np.repeat(widths, np.diff(arrays["basis.level_start"]))
    if (arrays["basis.slot_of_level"][: len(of_column)] >= of_column).any():
        raise InvalidModelError("'basis.slot_of_level' names a slot that its column does not have")
    if (arrays["basis.scale"] <= 0).any():
        raise InvalidModelError("'basis.scale' holds 0")
    grid = arrays["basis.grid"]
    if not np.isfinite(grid[:, :2]).all() or (np.diff(np.minimum(grid, LARGEST), axis=1) < 0).any():
        raise InvalidModelError("'basis.grid' is not in order")
    if not 1 - 1e-6 <= float(arrays["heads.weight"].sum()) <= 1 + 1e-6:
        raise InvalidModelError("'heads.weight' does not sum to 1")
    linear = sizes["state"] - sizes["E"] * sizes["H"]
    if linear != (sizes["K"] if arrays["heads.weight"][-1] > 0 else linear) or linear < 0:
        raise InvalidModelError("'base' does not fit the networks above it")


register(
    "plan-tree",
    "tree",
    Schema(
        arrays={
            **{f"tree_{name}": Array("i4", _NODE, -1) for name in ("feature", "ask", "left", "right")},
            "tree_threshold": _number(_NODE),
            "tree_missing_left": Array("b", _NODE),
            **{f"tree_{name}": Array("i4", _NODE, 0) for name in ("start", "planned", "stop")},
            "tree_items": Array("i4", _ITEM, 0),
            "tree_price": Array("f8", _ITEM, 0.0, LARGEST),
            "tree_count": Array("i8", _NODE, 0),
            "tree_class_counts": Array("i8", ("N", "K"), 0),
            "tree_loss_before": _number(_NODE),
            "tree_loss_after": _number(_ITEM),
            "tree_gain": _number(_NODE),
            "tree_error": Array("f8", _NODE, 0.0, LARGEST),
            "tree_changes": Array("f8", _NODE, 0.0, 1.0),
            "tree_sure": Array("f8", _NODE, 0.0, 1.0 + 1e-9),
            "tree_runner": Array("i4", ("L", 3), -1),
            "tree_runner_loss": _number(("L", 3), True),
            "tree_left_over": Array("f8", _NODE, -1e-6, infinity=True),
            "tree_rest": Array("i4", ("N", 3), -1),
            "tree_rest_saving": _number(("N", 3)),
            "prices_price": Array("f8", _FEATURE, 0.0, LARGEST),
            "prices_price_in_group": Array("f8", _FEATURE, 0.0, LARGEST),
            "prices_group": Array("i8", _FEATURE, -1),
            "prices_reveals": Array("b", ("D", "D")),
            "prices_follows": Array("b", ("D", "D")),
            "copies_source": Array("i4", ("M",), 0),
            "copies_target": Array("i4", ("M",), 0),
            "copies_slope": _number(("M",)),
            "copies_intercept": _number(("M",)),
            "known": Array("b", _FEATURE),
            "unavailable": Array("b", _FEATURE),
            "single": Array("f8", _FEATURE, -1e-6, 64.0),
            "pair": Array("f4", ("D", "D"), -1e-3, 64.0),
        },
        values={
            "columns": Value(check_columns),
            "classes": Value(check_classes),
            "budget": Value(_budget),
            "margin": number(0.0, LARGEST),
            "margin_setting": number(0.0, LARGEST),
            "adaptive": flag(),
            "spend_all": flag(),
            "seed": whole(0, 2**63),
            "target": text(),
            "fills": flag(),
            "named": flag(),
            "error_costs": Value(_error_costs),
            "predictor": Value(_predictor),
        },
        sizes={"D": (1, MOST_FEATURES), "N": (1, 100_000), "K": (2, 65_536)},
        checks=(_fits,),
    ),
)
register(
    "predictor",
    "networks",
    Schema(
        arrays={
            "basis.numbers": Array("i8", ("Dn",), 0),
            "basis.texts": Array("i8", ("Dc",), 0),
            "basis.centre": _number(("Dn",)),
            "basis.scale": Array("f8", ("Dn",), 0.0, LARGEST),
            "basis.grid": Array("f8", ("Dn", "grid"), infinity=True),
            "basis.score": _number(("Dn", "grid")),
            "basis.knots": Array("f8", ("Dn", "knots"), infinity=True),
            "basis.slot_start": Array("i8", ("Dc+1",), 0),
            "basis.level_start": Array("i8", ("Dc+1",), 0),
            "basis.slot_of_level": Array("i8", ("levels",), 0),
            "heads.second": Array("f4", ("E", "H", "M"), -WEIGHT, WEIGHT),
            "heads.second_bias": Array("f4", ("E", "M"), -WEIGHT, WEIGHT),
            "heads.output": Array("f4", ("E", "M", "K"), -WEIGHT, WEIGHT),
            "heads.output_bias": Array("f4", ("E", "K"), -WEIGHT, WEIGHT),
            "heads.weight": Array("f8", ("E+1",), 0.0, 1.0 + 1e-9),
            "number_weights": Array("f4", ("Dn", "width", "state"), -WEIGHT, WEIGHT),
            "slot_weights": Array("f4", ("slots", "state"), -WEIGHT, WEIGHT),
            "base": Array("f4", ("state",), -WEIGHT, WEIGHT),
        },
        values={
            "kind": text(("networks",)),
            "format": whole(1, 1),
            "notes": Value(lambda value: None if isinstance(value, dict) else "is not a set of notes"),
        },
        sizes={"K": (2, 65_536), "grid": (33, 33), "knots": (4, 4), "width": (7, 7)},
        checks=(_predicts,),
    ),
)
register(
    "model",
    "model",
    Schema(
        arrays={"ranges": Array("f8", ("D", 7), infinity=True)},
        values={
            "policy_kind": text(("policy", "wide-policy", "plan-tree")),
            "policy": Value(lambda value: None if isinstance(value, dict) else "is not the description of a policy"),
            "predictor": Value(_predictor),
            "error_costs": Value(_error_costs),
            "stop": Value(_stop, optional=True),
        },
    ),
)
