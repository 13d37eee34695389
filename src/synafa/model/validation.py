"""One validator for everything a model file may contain: every array and every JSON value is declared, then checked.

A `Schema` maps the name of an array to its type, its shape in symbols (`("D", "bins-1")`) and its range, and the name
of a JSON value to what it may be. Schemas are registered per kind of model, in sections, so that a part of a model
(a predictor, a plan) declares itself beside its own code: `register("policy", "predictor", Schema(...))`. What no
section declares is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synafa.errors import SynafaError

Sizes = dict[str, int]
Check = Callable[[Mapping[str, np.ndarray], Mapping[str, Any], Sizes], None]


class InvalidModelError(SynafaError):
    """A part of a model is missing or is not what it must be; the message names the part."""


@dataclass(frozen=True)
class Array:
    """What an array must be.

    Parameters
    ----------
    kinds : str
        Allowed NumPy kinds ("f" floats, "i" and "u" whole numbers, "b" booleans), or one exact type ("f8", "u1").
    shape : tuple of str or int
        Numbers, symbols that stand for the same number everywhere in a model, or a symbol plus or minus a number.
    low, high : float or None
        Inclusive range of the values.
    infinity : bool, default False
        Whether +inf is allowed. NaN and -inf never are.
    optional : bool, default False
    """

    kinds: str
    shape: tuple[str | int, ...]
    low: float | None = None
    high: float | None = None
    infinity: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Value:
    """What a JSON value must be: `check` says in words why a value is not it, or returns None."""

    check: Callable[[Any], str | None]
    optional: bool = False


@dataclass(frozen=True)
class Schema:
    """The arrays and JSON values of one section of a model, and checks over several of them together.

    Parameters
    ----------
    arrays : mapping of name to Array
    values : mapping of name to Value
    sizes : mapping of symbol to (least, most)
    checks : functions of arrays, JSON values and sizes that raise InvalidModelError
    """

    arrays: Mapping[str, Array] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    checks: Sequence[Check] = ()


SCHEMAS: dict[str, dict[str, Schema]] = {}


def register(kind: str, section: str, schema: Schema) -> None:
    """Declare a section of a kind of model; declaring it again replaces it."""
    SCHEMAS.setdefault(kind, {})[section] = schema


def validate(
    kind: str, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any], sections: Iterable[str] | None = None
) -> Sizes:
    """Check the contents of a model.

    Parameters
    ----------
    kind : str
        A registered kind of model.
    arrays, values : mapping
        What the file holds.
    sections : iterable of str, default all of the kind
        The sections that must be there and right; arrays and values of other sections are not looked at.

    Returns
    -------
    dict
        The sizes that the symbols stand for.

    Raises
    ------
    InvalidModelError
        One sentence that names the first part that is missing, unknown or wrong.
    """
    declared = SCHEMAS[kind]
    chosen = [declared[name] for name in (declared if sections is None else sections)]
    _refuse_unknown(arrays, {name for schema in declared.values() for name in schema.arrays})
    _refuse_unknown(values, {name for schema in declared.values() for name in schema.values})
    sizes: Sizes = {}
    for schema in chosen:
        for name, array in schema.arrays.items():
            if name in arrays:
                _check_shape(name, arrays[name], array, sizes)
            elif not array.optional:
                raise InvalidModelError(f"the model lacks {name!r}")
        for symbol, (least, most) in schema.sizes.items():
            if symbol in sizes and not least <= sizes[symbol] <= most:
                raise InvalidModelError(f"{symbol} is {sizes[symbol]}, which must be from {least} to {most}")
    for schema in chosen:
        for name, array in schema.arrays.items():
            if name in arrays:
                _check_range(name, arrays[name], array)
        for name, value in schema.values.items():
            if name in values:
                problem = value.check(values[name])
                if problem is not None:
                    raise InvalidModelError(f"{name!r} {problem}")
            elif not value.optional:
                raise InvalidModelError(f"the model lacks {name!r}")
    for schema in chosen:
        for check in schema.checks:
            check(arrays, values, sizes)
    return sizes


def _refuse_unknown(found: Iterable[str], declared: set[str]) -> None:
    unknown = next((name for name in found if name not in declared), None)
    if unknown is not None:
        raise InvalidModelError(f"{unknown[:60]!r} is no part of a model that this version knows")


def _check_shape(name: str, array: np.ndarray, wanted: Array, sizes: Sizes) -> None:
    if array.dtype.kind not in wanted.kinds or (wanted.kinds[-1].isdigit() and array.dtype.str[1:] != wanted.kinds):
        raise InvalidModelError(f"{name!r} holds values of type {array.dtype}")
    if array.ndim != len(wanted.shape):
        raise InvalidModelError(f"{name!r} has {array.ndim} dimensions, which must be {len(wanted.shape)}")
    for actual, size in zip(array.shape, wanted.shape):
        if isinstance(size, str):
            symbol, shift = _symbol(size)
            expected = sizes.setdefault(symbol, actual - shift) + shift
        else:
            expected = size
        if actual != expected:
            raise InvalidModelError(f"{name!r} has the shape {array.shape}, which does not fit the other parts")


def _symbol(size: str) -> tuple[str, int]:
    """`("bins", -1)` for "bins-1"."""
    for sign in "+-":
        symbol, found, number = size.partition(sign)
        if found:
            return symbol, int(sign + number)
    return size, 0


def _check_range(name: str, array: np.ndarray, wanted: Array) -> None:
    if array.size == 0 or array.dtype.kind == "b":
        return
    least, most = array.min(), array.max()  # NaN if there is one
    if wanted.infinity and np.isposinf(least):  # nothing but padding
        least = most = np.float64(0.0)
    if array.dtype.kind == "f" and not (np.isfinite(least) and (np.isfinite(most) or wanted.infinity)):
        raise InvalidModelError(f"{name!r} holds a value that is not a finite number")
    if (wanted.low is not None and least < wanted.low) or (wanted.high is not None and most > wanted.high):
        bounds = f"at least {wanted.low:g}" if wanted.high is None else f"from {wanted.low:g} to {wanted.high:g}"
        raise InvalidModelError(f"{name!r} holds values outside its range ({bounds})")


def number(low: float = -math.inf, high: float = math.inf, optional: bool = False) -> Value:
    """A finite number in a range."""

    def check(value: Any) -> str | None:
        found = finite_number(value)
        if found is None:
            return "is not a finite number"
        return None if low <= found <= high else f"is {found:g}, which is out of range"

    return Value(check, optional)


def whole(low: int, high: int, optional: bool = False) -> Value:
    """A whole number in a range."""

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "is not a whole number"
        return None if low <= value <= high else f"must be from {low} to {high}"

    return Value(check, optional)


def flag(optional: bool = False) -> Value:
    """True or false."""
    return Value(lambda value: None if isinstance(value, bool) else "is neither true nor false", optional)


def text(choices: Sequence[str] | None = None, optional: bool = False) -> Value:
    """A string, perhaps one of a few."""

    def check(value: Any) -> str | None:
        if not is_text(value):
            return "is not a text"
        return None if choices is None or value in choices else f"must be one of {', '.join(choices)}"

    return Value(check, optional)


def is_text(value: Any) -> bool:
    """Whether a value is a string that has a form in UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def finite_number(value: Any) -> float | None:
    """A JSON number as a float, None for anything else: true, text, 1e999, a whole number of 400 digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
