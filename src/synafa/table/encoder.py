"""Turns a DataFrame or an array into float64 columns, with everything that has to be learnt learnt from training rows.

Numbers stay as they are and booleans become 0 and 1. Text becomes the position of the string among the sorted distinct
training strings. An empty cell, and a string that no training row had, becomes NaN; so does every cell of a text column
with more than `MOST_CATEGORIES` different values, names or free text of which nothing is kept. `fill_values_` are
the training means of number columns and the most frequent training categories of text columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.names import check_unique, close_names, some_names

if TYPE_CHECKING:
    import polars as pl


MOST_CATEGORIES = 100
"""A text column with more different values than this counts as empty, and none of its values is stored."""

_BLOCK = 1 << 25  # encoded cells that wait to be put beside each other
_ROWS = 4096
_MANY_ROWS = 100_000  # from which on two columns are looked at at once
_MANY = 1000  # cells from which on it pays to look at each distinct one once


class UnsupportedValueError(SynafaError, TypeError):
    """A cell holds something that is neither a number nor a string."""


@dataclass(frozen=True)
class Column:
    """One fitted column: its name, `"number"` or `"text"`, the sorted categories of a text column, the fill value."""

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float = 0.0


class TableEncoder:
    """Fit on training rows, then turn any rows with those columns into float64 (n, D), NaN where nothing is known.

    Columns of a DataFrame are found by name, in any order, and columns that were not there at fit time are ignored; an
    array must have the same width. Fitted attributes: `columns_`, `feature_names_`.

    Examples
    --------
    >>> import polars as pl
    >>> train = pl.DataFrame({"age": [40, None, 60], "sex": ["m", "f", "f"]})
    >>> encoder = TableEncoder().fit(train)
    >>> encoder.transform(pl.DataFrame({"sex": ["m", "x"], "age": [50, 70]}))
    array([[50.,  1.],
           [70., nan]])
    >>> encoder.columns_[1].categories
    ('f', 'm')
    """

    columns_: tuple[Column, ...]

    @classmethod
    def of_means(cls, means: np.ndarray, names: Iterable[str] | None = None) -> TableEncoder:
        """The encoder of an array of numbers, whose columns are called x0, x1, ... unless names are given."""
        named = [f"x{j}" for j in range(len(means))] if names is None else [str(name) for name in names]
        encoder = cls()
        encoder.columns_ = tuple(Column(name, "number", (), float(mean)) for name, mean in zip(named, means))
        return encoder

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn the kinds, categories and fill values of the columns of `X`."""
        self._fit(*columns_of(X))
        return self

    def _fit(self, names: list[str], cells: list[np.ndarray | _Text]) -> None:
        if not names:
            raise SynafaError("The table has no feature columns (0 feature(s) while a minimum of 1 is required).")
        if len(cells[0]) == 0:
            raise SynafaError("The table has no rows; at least 1 sample is required.")
        self.columns_ = tuple(_side_by_side(len(cells[0]), _fit_column, names, cells))

    def transform(self, X: Any) -> np.ndarray:
        """float64 (n, D) in the order of the training columns; NaN for an empty cell or an unseen category."""
        X = collected(X)
        names, cells = columns_of(X)
        if hasattr(X, "columns"):
            position = {name: i for i, name in enumerate(names)}
            missing = [name for name in self.feature_names_ if name not in position]
            if missing:
                raise SynafaError(
                    f"Column {missing[0]!r} was there at fit time and is missing from this table"
                    f"{f' (and {len(missing) - 1} more)' if len(missing) > 1 else ''}; "
                    f"the table has: {some_names(names)}."
                )
            cells = [cells[position[name]] for name in self.feature_names_]
        elif len(names) != len(self.columns_):
            raise SynafaError(
                f"The rows have {len(names)} features, but the model was fitted on {len(self.columns_)} features."
            )
        return self._encode(cells)

    def _encode(self, cells: list[np.ndarray | _Text]) -> np.ndarray:
        n = len(cells[0]) if cells else 0
        values = np.empty((n, len(self.columns_)))
        width = max(1, _BLOCK // max(1, n))
        for left in range(0, len(cells), width):
            part = _side_by_side(n, _encode, self.columns_[left : left + width], cells[left : left + width])
            halves = values[: n // 2, left:], values[n // 2 :, left:]
            _side_by_side(n, _put, halves, (0, n // 2), (part, part))
        return values

    def fit_transform(self, X: Any, y: Any = None, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """`fit(X).transform(X)`, looking at the cells once; all rows are learnt from, only some may be wanted."""
        names, cells = columns_of(X)
        self._fit(names, cells)
        return self._encode([column[rows] for column in cells])

    def encode_value(self, name: str, value: Any) -> float:
        """One cell, as `transform` would encode it; a numeric string is read as a number."""
        column = self._by_name()[1].get(name)
        if column is None:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, self.feature_names_)}.")
        return _encode_one(column, value)

    @property
    def feature_names_(self) -> tuple[str, ...]:
        return tuple(self._by_name()[1])

    def _by_name(self) -> tuple[tuple[Column, ...], dict[str, Column]]:
        """The columns, and the same by name; made once for the columns that there are."""
        made: tuple[tuple[Column, ...], dict[str, Column]] | None = self.__dict__.get("_named")
        if made is None or made[0] is not self.columns_:
            made = self.columns_, {column.name: column for column in self.columns_}
            self._named = made
        return made

    @property
    def fill_values_(self) -> np.ndarray:
        return np.array([column.fill for column in self.columns_])

    @property
    def categories_(self) -> dict[str, tuple[str, ...]]:
        """The sorted categories of every text column, by name; a value's code is its position."""
        return {column.name: column.categories for column in self.columns_ if column.kind == "text"}

    def to_meta(self) -> list[dict[str, Any]]:
        """The fitted columns as JSON values."""
        return [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories), "fill": c.fill} for c in self.columns_
        ]

    @classmethod
    def from_meta(cls, meta: Sequence[Mapping[str, Any]]) -> TableEncoder:
        """The encoder that `to_meta` described; anything else is refused."""
        encoder = cls()
        try:
            encoder.columns_ = tuple(
                Column(str(c["name"]), _kind(c["kind"]), tuple(map(str, c["categories"])), float(c["fill"]))
                for c in meta
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SynafaError(
                "The description of the table's columns is damaged; fit and save the model again."
            ) from error
        return encoder


def _side_by_side(n_rows: int, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
    """`map`; of very many rows two columns at once."""
    if n_rows <= _MANY_ROWS:
        return list(map(function, *arguments))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, *arguments))


def _put(values: np.ndarray, first: int, columns: list[np.ndarray]) -> None:
    """Columns from row `first` on, side by side; one after the other every cell would fetch a line of memory."""
    for top in range(0, len(values), _ROWS):
        block = values[top : top + _ROWS]
        for j, column in enumerate(columns):
            block[:, j] = column[first + top : first + top + len(block)]


def collected(X: Any) -> Any:
    """A Polars LazyFrame read into memory; anything else as it is."""
    lazy = hasattr(X, "collect_schema") and hasattr(X, "collect") and not hasattr(X, "to_numpy")
    return X.collect() if lazy else X


def columns_of(X: Any) -> tuple[list[str], list[np.ndarray | _Text]]:
    """Names and columns of a DataFrame (Polars, pandas) or of a two-dimensional array."""
    X = collected(X)
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = [str(name) for name in X.columns]
        check_unique(names)
        return names, [_plain(X[name]) for name in X.columns]
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise UnsupportedValueError("Sparse data is not supported; convert the matrix with .toarray() first.")
    array = np.asarray(X)
    if np.iscomplexobj(array):
        raise SynafaError("Complex data not supported; give real numbers or text.")
    if array.ndim != 2:
        raise SynafaError(
            f"Expected 2D array, got {array.ndim}D array instead; Reshape your data to one row per case and one column "
            "per feature."
        )
    return [f"x{j}" for j in range(array.shape[1])], [_text_or(column) for column in array.T]


def _kind(kind: Any) -> str:
    if kind not in ("number", "text"):
        raise ValueError(kind)
    return str(kind)


@dataclass(frozen=True, eq=False)
class _Text:
    """A column of nothing but text and empty cells: its distinct cells, and each row's place among them.

    An empty cell's place is one past the end. Whatever is done to text is done once for each distinct cell.
    """

    distinct: tuple[str, ...]
    place: np.ndarray

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, rows: np.ndarray | slice) -> _Text:
        return _Text(self.distinct, self.place[rows])

    def cells(self) -> np.ndarray:
        """The cells themselves, None where empty."""
        return np.array([*self.distinct, None], dtype=object)[self.place]


def _plain(series: Any) -> np.ndarray | _Text:
    """A column of a DataFrame as a plain array, or as text."""
    if type(series).__module__.partition(".")[0] == "polars":
        import polars as pl

        if series.dtype in (pl.String, pl.Categorical, pl.Enum):
            return _text_of(series.cast(pl.String))
        if str(series.dtype) in ("Int128", "UInt128"):
            raise UnsupportedValueError(
                f"Column {series.name!r} holds 128-bit whole numbers, which NumPy does not know; cast it to Float64."
            )
        if series.dtype == pl.Boolean or series.dtype.is_numeric():
            return series.cast(pl.Float64).to_numpy()
    try:
        array = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    except Exception as error:  # each DataFrame library has its own for a type that NumPy does not know
        raise UnsupportedValueError(f"Column {getattr(series, 'name', '?')!r} cannot be read: {error}.") from error
    if array.ndim != 1:
        raise UnsupportedValueError(f"Column {getattr(series, 'name', '?')!r} holds lists; give one value per cell.")
    return _text_or(array)


def _text_or(array: np.ndarray) -> np.ndarray | _Text:
    """An array of objects as text where that is all it holds, else as it is."""
    if array.dtype.kind != "O" or len(array) < _MANY or not set(map(type, array)) <= {str, type(None)}:
        return array
    import polars as pl

    try:
        return _text_of(pl.Series(array, dtype=pl.String))
    except Exception:  # half of a surrogate pair has no UTF-8 form
        return array


def _text_of(series: pl.Series) -> _Text:
    import polars as pl

    distinct = series.unique().drop_nulls()
    place = series.cast(pl.Enum(distinct)).to_physical().cast(pl.UInt32).fill_null(len(distinct))
    return _Text(tuple(distinct.to_list()), place.to_numpy())


def _is_missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT, and strings of nothing but spaces."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, Real | Decimal) and math.isnan(value)


def _fit_column(name: str, raw: np.ndarray | _Text) -> Column:
    if isinstance(raw, _Text):
        counts: Counter[str] = Counter()
        for cell, count in zip(raw.distinct, np.bincount(raw.place, minlength=len(raw.distinct) + 1).tolist()):
            if cell.strip():
                counts[cell.strip()] += count
        return _text_column(name, counts)
    if raw.dtype.kind in "OUS" and any(isinstance(value, str | bytes) for value in raw):
        return _text_column(
            name, Counter(_text(value) for i, value in enumerate(raw) if not _missing_or_refused(name, i, value))
        )
    from synafa.table.sums import mean_of

    numbers = _numbers(name, raw)
    empty = np.isnan(numbers)
    return Column(name, "number", (), mean_of(numbers[~empty] if empty.any() else numbers))


def _text_column(name: str, counts: Mapping[str, int]) -> Column:
    if len(counts) > MOST_CATEGORIES:
        return Column(name, "text")
    categories = tuple(sorted(counts))  # not as a NumPy array of text, which drops zero characters at the end
    most_frequent = max(range(len(categories)), key=lambda i: counts[categories[i]], default=0)
    return Column(name, "text", categories, float(most_frequent))


def _encode(column: Column, raw: np.ndarray | _Text) -> np.ndarray:
    if isinstance(raw, _Text):
        if column.kind == "number":
            return _numbers(column.name, raw.cells())
        code = {category: float(i) for i, category in enumerate(column.categories)}
        return np.array([*(code.get(cell.strip(), math.nan) for cell in raw.distinct), math.nan])[raw.place]
    if column.kind == "number":
        return _numbers(column.name, raw)
    if raw.dtype.kind in "buif" and len(raw) > _MANY:
        distinct, place = np.unique(raw, return_inverse=True)
        return _encode(column, distinct.astype(object))[place]
    code = {category: float(i) for i, category in enumerate(column.categories)}
    if raw.dtype.kind not in "OUS":
        raw = raw.astype(object)
    return np.array(
        [
            math.nan if _missing_or_refused(column.name, i, value) else _category_code(code, value)
            for i, value in enumerate(raw)
        ]
    )


def _encode_one(column: Column, value: Any) -> float:
    if column.kind == "number" and type(value) is float and math.isfinite(value):
        return value
    if column.kind == "number" and isinstance(value, str) and value.strip():
        try:
            value = float(value)
        except ValueError as error:
            raise SynafaError(f"{value!r} is not a number, but {column.name!r} held numbers at fit time.") from error
    if isinstance(value, Real) and math.isinf(value):
        raise SynafaError(f"The value of {column.name!r} is infinite; give a finite number.")
    return float(_encode(column, np.array([value], dtype=object))[0])


def _category_code(code: Mapping[str, float], value: Any) -> float:
    text = _text(value)
    # A column of "1", "2", "other" arrives as whole numbers when a later file happens to hold no "other".
    if text not in code and isinstance(value, Real) and math.isfinite(value) and float(value).is_integer():
        text = str(int(float(value)))
    return code.get(text, math.nan)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace").strip() if isinstance(value, bytes) else str(value).strip()


def _numbers(name: str, raw: np.ndarray) -> np.ndarray:
    """A number column as float64, NaN for empty cells; text and infinities are refused by row."""
    kind = raw.dtype.kind
    if kind in "mM":
        raise UnsupportedValueError(f"Column {name!r} holds dates or times; turn it into a number (days, hours) first.")
    if kind in "buif":
        values = raw.astype(np.float64, copy=False)
    else:
        values = np.array([_number(name, i, value) for i, value in enumerate(raw)], dtype=np.float64)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise SynafaError(
            f"Column {name!r} holds infinity in row {row + 1}; leave the cell empty or give a finite number."
        )
    return values


def _number(name: str, row: int, value: Any) -> float:
    if _missing_or_refused(name, row, value):
        return math.nan
    try:
        return float(value)
    except ValueError as error:
        raise SynafaError(
            f"Column {name!r} held numbers at fit time, but row {row + 1} holds the text {_text(value)!r}; "
            "correct the cell or leave it empty."
        ) from error


def _missing_or_refused(name: str, row: int, value: Any) -> bool:
    """Whether a cell is empty; a cell that is neither number nor text is an error."""
    if _is_missing(value):
        return True
    if not isinstance(value, str | bytes | Real | Decimal | np.generic):
        raise UnsupportedValueError(
            f"Column {name!r} holds a {type(value).__name__} in row {row + 1}, but the "
            "argument must be a string or a real number."
        )
    return False
