"""Run one unit and return its outcome, success or failure, with everything needed to judge it later.

The same function serves local processes and Dask workers; it never raises for an error of the unit itself.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.study.engine.speed import process_speed
from synafa.study.engine.unit import Unit

_PACKAGES = ("synafa", "numpy", "scipy", "numba", "scikit-learn", "polars", "torch")


@dataclass(frozen=True)
class Outcome:
    """What came of a unit: `status` is `done` or `failed`, `record` says when, where and with which versions."""

    status: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def execute(unit: Unit) -> Outcome:
    """Call the unit's function; an exception becomes a failed outcome with its last lines as text."""
    speed = process_speed()
    started = datetime.now(UTC)
    clock, processor = time.perf_counter(), time.process_time()
    try:
        returned = unit.resolve()(unit)
        rows, arrays = _checked(unit, returned)
        status, error = "done", ""
    except Exception as problem:
        rows, arrays, status = [], {}, "failed"
        error = "".join(traceback.format_exception(problem, limit=-6)).strip()
    record = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
        "processor_seconds": round(time.process_time() - processor, 3),
        "cores": os.cpu_count(),
        "core_speed": round(speed, 2),
        "peak_mib": peak_mib(),
        "machine": platform.machine(),
        "versions": package_versions(),
    }
    return Outcome(status, rows, arrays, record, error)


def execute_stored(stored: Mapping[str, Any]) -> Outcome:
    """`execute` for a unit that travelled as JSON."""
    return execute(Unit.from_dict(stored))


def peak_mib() -> int | None:
    """The most memory this process has held so far, in MiB (None where the system does not tell)."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most / (2**20 if sys.platform == "darwin" else 2**10))


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _checked(unit: Unit, returned: Any) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    if not isinstance(returned, Mapping) or "rows" not in returned:
        raise SynafaError(f"{unit.function} must return a dict with 'rows', got: {type(returned).__name__}.")
    rows = [{str(name): plain(value) for name, value in row.items()} for row in returned["rows"]]
    arrays = {str(name): np.ascontiguousarray(value) for name, value in (returned.get("arrays") or {}).items()}
    return rows, arrays


def plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python values; NaN becomes None, because JSON has no NaN."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [plain(inner) for inner in value]
    raise SynafaError(f"A result row holds a {type(value).__name__}, which JSON cannot store; use text or numbers.")
