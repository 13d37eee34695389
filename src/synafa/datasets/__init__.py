"""The study's datasets by name: `load(name, instance=0)` gives one frozen `Dataset`, from files or from a generator."""

from __future__ import annotations

from synafa.datasets.dataset import Dataset
from synafa.datasets.loading import DatasetInfo, describe, fetch, load, load_raw, names
from synafa.datasets.population import PopulationPID, calibrate_fixed_v, population_pid, population_pid_weights
from synafa.datasets.preprocess import RawTable

__all__ = [
    "Dataset",
    "DatasetInfo",
    "PopulationPID",
    "RawTable",
    "calibrate_fixed_v",
    "describe",
    "fetch",
    "load",
    "load_raw",
    "names",
    "population_pid",
    "population_pid_weights",
]
