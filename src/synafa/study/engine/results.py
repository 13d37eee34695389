"""An experiment's finished units, as the experiment's `tables`, `figures` and `headline` want to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from synafa.study.engine.settings import Settings
from synafa.study.engine.store import Store, UnitResult
from synafa.study.engine.unit import Unit, with_needs

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Results:
    """Results of one experiment under one profile; units that are not finished, or are damaged, are absent."""

    settings: Settings
    units: Sequence[Unit]
    finished: Sequence[UnitResult]
    failed: Sequence[UnitResult] = ()
    damaged: Sequence[str] = ()

    @classmethod
    def read(cls, units: Sequence[Unit], settings: Settings) -> Results:
        """The stored results of the units and of what they need."""
        store = Store(settings.results)
        everything = with_needs(units)
        found = [result for result in map(store.load, everything) if result is not None]
        done = [result for result in found if result.status == "done"]
        failed = [result for result in found if result.status == "failed"]
        return cls(settings, everything, done, failed, list(store.damaged.values()))

    def __iter__(self) -> Iterator[UnitResult]:
        return iter(self.finished)

    def __len__(self) -> int:
        return len(self.finished)

    @property
    def complete(self) -> bool:
        return len(self.finished) == len(self.units)

    def where(self, **parameters: Any) -> list[UnitResult]:
        """Finished units with these parameters, e.g. `results.where(dataset="ckd", budget=4)`."""
        return [
            result
            for result in self.finished
            if all(result.unit.parameters.get(name) == value for name, value in parameters.items())
        ]

    def one(self, **parameters: Any) -> UnitResult | None:
        """The finished unit with these parameters, None if it is not there."""
        found = self.where(**parameters)
        return found[0] if found else None

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, each with its unit's parameters in front (a row's own value wins)."""
        return [
            {"experiment": result.unit.experiment, **_flat(result.unit.parameters), **row}
            for result in self.finished
            for row in result.rows
        ]

    def select(self, **values: Any) -> list[dict[str, Any]]:
        """Rows whose columns have these values."""
        return [row for row in self.rows if all(row.get(name) == value for name, value in values.items())]

    def value(self, column: str, **values: Any) -> Any:
        """One cell: `column` of the first row with these values, None if there is no such row."""
        found = self.select(**values)
        return found[0].get(column) if found else None

    def frame(self) -> pl.DataFrame:
        """All rows as a table."""
        import polars as pl

        return pl.DataFrame(self.rows, infer_schema_length=None, strict=False)


def _flat(parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if not isinstance(value, list | dict)}
