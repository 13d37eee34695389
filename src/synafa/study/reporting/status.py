"""How far the study is: units done, failed and pending per experiment, time spent and an estimate of the time left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synafa.study.engine.settings import Settings
from synafa.study.engine.store import Store
from synafa.study.engine.unit import with_needs
from synafa.study.experiments.contract import Experiment


@dataclass(frozen=True)
class ExperimentStatus:
    """One experiment's units; `seconds_left` is on one worker, from cost hints and how wrong they were."""

    experiment: str
    title: str
    units: int
    done: int
    failed: int
    pending: int
    seconds_spent: float
    seconds_left: float
    errors: tuple[str, ...]
    damaged: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def study_status(experiments: Sequence[Experiment], settings: Settings) -> list[ExperimentStatus]:
    """One line for each experiment; a unit that several of them need is counted in each."""
    store = Store(settings.results)
    return [_status(experiment, settings, store) for experiment in experiments]


def _status(experiment: Experiment, settings: Settings, store: Store) -> ExperimentStatus:
    units = with_needs(experiment.units(settings))
    spent = hinted = left = 0.0
    done, errors = 0, []
    for unit in units:
        result = store.load(unit)
        if result is not None and result.status == "done":
            done += 1
            spent += result.seconds
            hinted += unit.cost
            continue
        left += unit.cost
        if result is not None:
            last = result.error.splitlines()[-1] if result.error else "no error text"
            errors.append(f"{unit.label}: {last}")
    rate = spent / hinted if hinted else 1.0
    pending = len(units) - done - len(errors)
    return ExperimentStatus(
        experiment.name,
        experiment.title,
        len(units),
        done,
        len(errors),
        pending,
        round(spent, 1),
        round(left * rate, 1),
        tuple(errors),
        tuple(store.damaged[unit.key] for unit in units if unit.key in store.damaged),
    )
