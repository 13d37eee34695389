"""The target column of a batch: its classes in order and every row's place among them; a missing label is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.labels import classes_of
from synafa.table.names import close_names
from synafa.table.reading import MAX_CLASSES

if TYPE_CHECKING:
    import polars as pl


class Labels:
    """Reads one column as class labels, with the same types as `split_target` of a whole table gives."""

    def __init__(self, target: str, schema: dict[str, Any]) -> None:
        if target not in schema:
            raise SynafaError(f"There is no column {target!r} for the target{close_names(target, list(schema))}.")
        dtype = schema[target]
        if dtype.is_temporal() or dtype.is_nested():
            raise SynafaError(f"The target {target!r} holds {dtype}; it must hold class labels (numbers or text).")
        if len(schema) == 1:
            raise SynafaError(f"The table has no column beside the target {target!r}.")
        self.target = target

    def read(self, series: pl.Series, where: str, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The classes of a batch, in order, and each row's place among them."""
        import polars as pl

        if series.dtype.is_float():
            series = series.cast(pl.Float64).fill_nan(None)  # half precision cannot be compared with 2**53
        if series.null_count():
            row = first + int(np.argmax(series.is_null().to_numpy())) + 1
            raise SynafaError(
                f"The target {self.target!r} is missing in row {row} of {where}; label these rows or leave them out."
            )
        if series.dtype in (pl.String, pl.Categorical, pl.Enum):
            text = series.cast(pl.String)
            texts = sorted(text.unique().to_list())
            self.check(len(texts))
            if any("\0" in label for label in texts):
                row = first + int(text.str.contains("\0", literal=True).arg_true()[0]) + 1
                raise SynafaError(
                    f"The target {self.target!r} holds a zero character in row {row} of {where}; remove it, two "
                    "classes may otherwise look like one."
                )
            return np.array(texts, dtype=str), text.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        values = np.ascontiguousarray(series.rechunk().to_numpy())
        if values.dtype.kind == "f":
            if np.isinf(values).any():
                row = first + int(np.argmax(np.isinf(values))) + 1
                raise SynafaError(f"The target {self.target!r} is infinite in row {row} of {where}.")
            if not np.array_equal(values, np.floor(values)) or (np.abs(values) >= 2**53).any():
                raise SynafaError(
                    f"The target {self.target!r} holds numbers with fractions in {where}; it must hold class labels."
                )
            values = values.astype(np.int64)
        classes, places = classes_of(values)
        self.check(len(classes))
        return classes, places

    def check(self, n_classes: int) -> None:
        """Refuse a measured number in place of a class."""
        if n_classes > MAX_CLASSES:
            raise SynafaError(
                f"The target {self.target!r} has more than {MAX_CLASSES} classes; group a measured number into classes "
                "first."
            )
