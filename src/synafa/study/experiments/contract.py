"""What an experiment module must have, and how one is found by name.

A module has `NAME`, `TITLE`, `VERSION` (raise it when `run` changes), `COVERS` (labels of the paper's tables),
`units(settings) -> list[Unit]`, `run(unit) -> {"rows": [...], "arrays": {...}}` (flat rows), and, for the report,
`tables(results)`, optionally `figures(results)` and `headline(results)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from synafa.errors import SynafaError
from synafa.report.figures import house_style
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportTable
from synafa.study.experiments.registry import EXPERIMENTS


@dataclass(frozen=True)
class Experiment:
    """An experiment module, checked."""

    module: ModuleType

    def __post_init__(self) -> None:
        wanted = ("NAME", "TITLE", "VERSION", "COVERS", "units", "run", "tables")
        missing = [name for name in wanted if not hasattr(self.module, name)]
        if missing:
            raise SynafaError(f"{self.module.__name__} is no experiment: it lacks {', '.join(missing)}.")

    @property
    def name(self) -> str:
        return str(self.module.NAME)

    @property
    def title(self) -> str:
        return str(self.module.TITLE)

    @property
    def covers(self) -> tuple[str, ...]:
        return tuple(self.module.COVERS)

    def units(self, settings: Settings) -> list[Unit]:
        return list(self.module.units(settings))

    def results(self, settings: Settings) -> Results:
        return Results.read(self.units(settings), settings)

    def tables(self, results: Results) -> list[ReportTable | PlainTable]:
        return list(self.module.tables(results))

    def figures(self, results: Results) -> list[Figure]:
        if not hasattr(self.module, "figures"):
            return []
        with house_style():
            return list(self.module.figures(results))

    def headline(self, results: Results) -> list[Headline]:
        said = self.module.headline(results) if hasattr(self.module, "headline") else []
        return [line if isinstance(line, Headline) else Headline(str(line)) for line in said]


def load_experiments(names: Sequence[str] = ("all",)) -> list[Experiment]:
    """Experiments by name; `all` is the whole registry, a name with a dot is a module's import path."""
    wanted: Iterable[str] = EXPERIMENTS if list(names) in ([], ["all"]) else names
    return [_load(name) for name in wanted]


def _load(name: str) -> Experiment:
    if name not in EXPERIMENTS and "." not in name:
        raise SynafaError(f"There is no experiment {name!r}; choose from: {', '.join(EXPERIMENTS)}, or all.")
    path = EXPERIMENTS.get(name, name)
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise  # a module that the experiment needs is missing: not the user's spelling
        raise SynafaError(f"There is no experiment module {path!r}; check the spelling.") from None
    return Experiment(module)
