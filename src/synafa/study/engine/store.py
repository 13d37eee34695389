"""The folder of results: one content-addressed JSON file per unit, written last and atomically.

`<experiment>/<key>.json` holds status, parameters, record and rows; many rows go to `<key>.parquet`, arrays to
`<key>.safetensors`, both written before the JSON file, whose presence alone makes a unit finished.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import atomic_path, write_text
from synafa.study.engine.execute import Outcome
from synafa.study.engine.unit import Unit

_ROWS_IN_JSON = 200


@dataclass(frozen=True, eq=False)
class UnitResult:
    """A finished or failed unit as it was stored; rows and arrays are read on first use."""

    unit: Unit
    status: str
    record: dict[str, Any]
    error: str
    path: Path
    stored: dict[str, Any] = field(repr=False)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        if "rows" in self.stored:
            return list(self.stored["rows"])
        import polars as pl

        return pl.read_parquet(self.path.with_suffix(".parquet")).to_dicts()

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        if not self.stored.get("arrays"):
            return {}
        from safetensors.numpy import load_file

        return dict(load_file(self.path.with_suffix(".safetensors")))

    @property
    def seconds(self) -> float:
        return float(self.record.get("seconds", 0.0))


class Store:
    """Results under one folder.

    >>> import tempfile
    >>> unit = Unit("toy", "toy:run", {"x": 1})
    >>> store = Store(tempfile.mkdtemp())
    >>> store.status(unit)
    'pending'
    >>> store.save(unit, Outcome("done", rows=[{"y": 2}]))
    >>> store.load(unit).rows
    [{'y': 2}]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, unit: Unit) -> Path:
        return self.folder / unit.experiment / f"{unit.key}.json"

    def load(self, unit: Unit) -> UnitResult | None:
        """The unit's stored result, or None."""
        path = self.path(unit)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except json.JSONDecodeError:
            raise SynafaError(f"The result file {path} is not JSON; delete it, and the unit runs again.") from None
        return UnitResult(unit, stored["status"], stored["record"], stored.get("error", ""), path, stored)

    def status(self, unit: Unit) -> str:
        """`done`, `failed` or `pending`."""
        result = self.load(unit)
        return "pending" if result is None else result.status

    def save(self, unit: Unit, outcome: Outcome) -> None:
        """Write a unit's outcome; a failure never replaces a finished result."""
        if outcome.status == "failed" and self.status(unit) == "done":
            return
        path = self.path(unit)
        stored: dict[str, Any] = {
            "status": outcome.status,
            **unit.to_dict(),
            "key": unit.key,
            "record": outcome.record,
            "arrays": sorted(outcome.arrays),
        }
        if outcome.error:
            stored["error"] = outcome.error
        if outcome.arrays:
            from safetensors.numpy import save_file

            with atomic_path(path.with_suffix(".safetensors")) as temporary:
                save_file(outcome.arrays, str(temporary))
        if len(outcome.rows) > _ROWS_IN_JSON:
            import polars as pl

            with atomic_path(path.with_suffix(".parquet")) as temporary:
                pl.DataFrame(outcome.rows, infer_schema_length=None).write_parquet(temporary)
        else:
            stored["rows"] = outcome.rows
        write_text(path, json.dumps(stored, ensure_ascii=False) + "\n")

    def sweep(self, units: Iterable[Unit], older_than: float = 3600.0) -> int:
        """Remove temporary files that killed workers left beside these units long ago; how many there were.

        Younger ones may belong to another run that is writing just now.
        """
        folders = {self.path(unit).parent for unit in units}
        before = time.time() - older_than
        candidates = (file for folder in folders if folder.exists() for file in folder.glob(".*.tmp"))
        leftovers = [file for file in candidates if file.stat().st_mtime <= before]
        for file in leftovers:
            file.unlink(missing_ok=True)
        return len(leftovers)
