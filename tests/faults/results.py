"""Results of the study with damaged bytes, fields and files: never believed, never fatal, always computed again."""

from __future__ import annotations

import json
import shutil
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np

from synafa.study import Settings, Unit
from synafa.study.engine.execute import Outcome, execute
from synafa.study.engine.results import Results
from synafa.study.engine.store import Store
from tests.faults.tables import damaged
from tests.study import toy_experiment as toy


@cache
def _original() -> Path:
    import tempfile

    settings = Settings("quick", root=Path(tempfile.mkdtemp(prefix="synafa-results-")))
    store = Store(settings.results)
    for unit in toy.units(settings):
        outcome = _executed(unit)
        many = outcome.rows * (300 if unit["number"] < 4 else 1)
        store.save(unit, Outcome(outcome.status, many, outcome.arrays, outcome.record))
    return settings.root


def attempt(rng: np.random.Generator, folder: Path) -> str:
    """Up to three damaged files among the results of twelve units."""
    shutil.copytree(_original(), folder / "results")
    settings = Settings("quick", root=folder / "results")
    store = Store(settings.results)
    units = toy.units(settings)
    before = {unit.key: (store.load(unit).rows, store.load(unit).arrays) for unit in units}
    files = sorted(file for file in (folder / "results").rglob("*") if file.is_file())
    for _ in range(rng.integers(0, 4)):
        _damage(rng, files[rng.integers(len(files))], files)
    store = Store(settings.results)
    for unit in units:
        result = store.load(unit)
        if result is None:
            assert unit.key in store.damaged or not store.path(unit).exists()
            continue
        rows, arrays = before[unit.key]
        assert result.rows == rows, "an altered number was believed"
        assert all(np.array_equal(result.arrays[name], array) for name, array in arrays.items())
    assert len(Results.read(units, settings).rows) >= 0
    lost = [unit for unit in units if store.status(unit) != "done"]
    for unit in lost:
        store.save(unit, _executed(unit))
        assert store.status(unit) == "done"
    return "healed" if lost else "unharmed"


def _executed(unit: Unit) -> Outcome:
    with redirect_stdout(StringIO()):
        return execute(unit)


def _content(file: Path) -> dict[str, object]:
    """What a JSON file of a result says; nothing when it is another file, or damaged already."""
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _damage(rng: np.random.Generator, file: Path, files: list[Path]) -> None:
    change = rng.integers(6)
    if file.is_dir() or not file.exists():
        return
    if change == 0:
        file.unlink()
    elif change == 1:
        file.unlink()
        file.mkdir()
    elif change == 2:
        other = files[rng.integers(len(files))]
        if other.is_file():
            file.write_bytes(other.read_bytes())
    elif change == 3 and (stored := _content(file)):
        name = str(rng.choice(sorted(stored)))
        stored[name] = [None, [], {}, "done", 0, "x", [{"square": 1}]][rng.integers(7)]
        file.write_text(json.dumps(stored))
    else:
        file.write_bytes(damaged(rng, file.read_bytes()))
