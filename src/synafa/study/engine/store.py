"""The folder of results: one content-addressed JSON file per unit, written last and atomically.

`<experiment>/<key>.json` holds status, parameters, record and rows; many rows go to `<key>.parquet`, arrays to
`<key>.safetensors`, both written before the JSON file, whose presence makes a unit finished. It carries a checksum over
its own content and hashes of the other two; a result that does not match them, or that belongs to another unit, counts
as not computed, and `damaged` says why.
"""

from __future__ import annotations

import hashlib
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
from synafa.files import atomic_path
from synafa.study.engine.execute import Outcome
from synafa.study.engine.unit import Unit

_ROWS_IN_JSON = 200
_IDENTITY = ("experiment", "parameters", "profile", "seed", "version")
_SUFFIXES = (".parquet", ".safetensors")
# Results of the time before checksums have these fields and no others.
_OLD_FIELDS = {"status", "function", "cost", "key", "record", "arrays", "rows", "error", *_IDENTITY}


class _Damaged(Exception):
    """Why a stored result cannot be believed."""


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
        self.damaged: dict[str, str] = {}
        self._hashes: dict[tuple[Path, int, int], str] = {}

    def path(self, unit: Unit) -> Path:
        return self.folder / unit.experiment / f"{unit.key}.json"

    def lock(self, unit: Unit) -> Path:
        """The file whose lock says that a run computes this unit now."""
        return self.folder / unit.experiment / f".{unit.key}.lock"

    def prepare(self) -> None:
        """Find out now, not after the first unit, whether results can be written here."""
        try:
            with atomic_path(self.folder / ".writable") as temporary:
                temporary.write_text("")
            (self.folder / ".writable").unlink(missing_ok=True)
        except (OSError, SynafaError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SynafaError(
                f"Results cannot be written to {str(self.folder)!r} ({reason}); choose another folder with --results."
            ) from error

    def load(self, unit: Unit) -> UnitResult | None:
        """The unit's stored result; None when there is none or when it is damaged."""
        path = self.path(unit)
        try:
            stored = self._believed(unit, path)
        except FileNotFoundError:
            return None
        except _Damaged as problem:
            self.damaged[unit.key] = f"{unit.label}: {path} {problem}; the unit counts as not computed."
            return None
        self.damaged.pop(unit.key, None)
        return UnitResult(unit, stored["status"], stored["record"], stored.get("error", ""), path, stored)

    def _believed(self, unit: Unit, path: Path) -> dict[str, Any]:
        """What the unit's file says, after everything that can be checked has been."""
        try:
            stored = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise _Damaged("is not JSON") from error
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _Damaged(f"cannot be read ({error.strerror})") from error
        if not isinstance(stored, dict) or not isinstance(stored.get("record"), dict):
            raise _Damaged("is not a result")
        if "checksum" not in stored and not (set(stored) <= _OLD_FIELDS):
            raise _Damaged("has no checksum")
        if "checksum" in stored and stored["checksum"] != _checksum(stored):
            raise _Damaged("does not match its checksum")
        mine = unit.to_dict()
        if stored.get("key") != unit.key or any(stored.get(name) != mine[name] for name in _IDENTITY):
            raise _Damaged("belongs to another unit")
        if stored.get("status") not in ("done", "failed"):
            raise _Damaged("is not a result")
        if stored["status"] == "done":
            self._check_files(path, stored)
        return stored

    def _check_files(self, path: Path, stored: dict[str, Any]) -> None:
        needed = {".parquet": "rows" not in stored, ".safetensors": bool(stored.get("arrays"))}
        for suffix in _SUFFIXES:
            if not needed[suffix]:
                continue
            file = path.with_suffix(suffix)
            try:
                found = self._hash(file)
            except OSError as error:
                raise _Damaged(f"has lost its {file.name} ({error.strerror})") from error
            if "files" in stored and stored["files"].get(suffix) != found:
                raise _Damaged(f"has a {file.name} that does not match its checksum")
            if "files" not in stored:
                _check_readable(file)

    def _hash(self, file: Path) -> str:
        """The hash of a file's content, computed once while the file stays as it is."""
        state = file.stat()
        seen = (file, state.st_mtime_ns, state.st_size)
        if seen not in self._hashes:
            self._hashes[seen] = _file_hash(file)
        return self._hashes[seen]

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
            "files": {},
        }
        if outcome.error:
            stored["error"] = outcome.error
        if outcome.arrays:
            from safetensors.numpy import save_file

            with atomic_path(path.with_suffix(".safetensors"), own=True) as temporary:
                save_file(outcome.arrays, str(temporary))
                stored["files"][".safetensors"] = _file_hash(temporary)
        if len(outcome.rows) > _ROWS_IN_JSON:
            import polars as pl

            with atomic_path(path.with_suffix(".parquet"), own=True) as temporary:
                pl.DataFrame(outcome.rows, infer_schema_length=None).write_parquet(temporary)
                stored["files"][".parquet"] = _file_hash(temporary)
        else:
            stored["rows"] = outcome.rows
        stored = json.loads(json.dumps(stored))  # the checksum is over what a reader will see
        stored["checksum"] = _checksum(stored)
        with atomic_path(path, own=True) as temporary:
            temporary.write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")

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


def _checksum(stored: dict[str, Any]) -> str:
    """A hash of everything in a result but itself."""
    content = {name: value for name, value in stored.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _file_hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check_readable(file: Path) -> None:
    """An older result has no checksum: at least its file must open."""
    try:
        if file.suffix == ".parquet":
            import polars as pl

            pl.read_parquet(file)
        else:
            from safetensors.numpy import load_file

            load_file(file)
    except Exception as error:
        raise _Damaged(f"has a {file.name} that cannot be read") from error
