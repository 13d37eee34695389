"""The settings that several baselines share; a method's own dataclass adds its fields to one of these.

Every settings object can be `adapted` to a dataset, which is how `train` and `fit` make it fit few rows or images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class MethodSettings:
    """What a method is trained with; the same for every dataset unless `adapted` says otherwise."""

    def adapted(self, dataset: Dataset) -> Self:
        """The settings for this dataset."""
        return self


@dataclass(frozen=True)
class EpochSettings(MethodSettings):
    """Training by passes over the rows until a plateau; `least_steps` stretches it on small tables."""

    hidden: tuple[int, int] = (128, 128)
    epochs: int = 250  # at most; for each temperature where there are several
    batch: int = 128
    lr: float = 1e-3
    min_lr: float = 1e-6
    patience: int = 5
    least_steps: int = 0

    @property
    def most_epochs(self) -> int:
        """How many epochs the whole training takes at most."""
        return self.epochs

    def adapted(self, dataset: Dataset) -> Self:
        """More passes over few rows."""
        return scaled(self, len(dataset.train))


@dataclass(frozen=True)
class AnnealedSettings(EpochSettings):
    """Epochs at each of several falling temperatures of a relaxed choice."""

    min_lr: float = 1e-5
    temperatures: tuple[float, float, int] = (10.0, 0.01, 10)  # first, last, how many
    logit_scale: float = 0.2

    @property
    def most_epochs(self) -> int:
        return self.epochs * self.temperatures[2]

    def stages(self) -> Iterator[tuple[int, float]]:
        """(1, first temperature), (2, ...), ..., evenly spaced on a logarithmic scale."""
        for stage, temperature in enumerate(np.geomspace(*self.temperatures), start=1):
            yield stage, float(temperature)


@dataclass(frozen=True)
class PredictorSettings(EpochSettings):
    """A predictor trained first, under masks that hide a share drawn from `hide`."""

    dropout: float = 0.3
    hide: tuple[float, float] = (0.0, 0.9)
    pretrain_epochs: int = 100

    @property
    def most_epochs(self) -> int:
        return self.pretrain_epochs + super().most_epochs

    def adapted(self, dataset: Dataset) -> Self:
        """More passes over few rows; pixels are hidden much more often than measurements."""
        settings = super().adapted(dataset)
        return replace(settings, hide=(0.75, 0.99)) if dataset.name.startswith("mnist") else settings


def scaled(settings: Any, n_train: int) -> Any:
    """Settings whose stages make at least `least_steps` optimiser steps: smaller batches, then more passes.

    A pass over a few hundred rows is a step or two, which says little about a plateau: patience lasts at least a fifth
    of `least_steps`. The published settings (`least_steps` 0) are left as they are.
    """
    if settings.least_steps == 0:
        return settings
    batch = min(settings.batch, max(128, n_train // 16))  # never below the published 128
    steps = max(1, n_train // batch)  # what does not fill a batch is left to other passes
    passes = -(-settings.least_steps // steps)
    longer = {
        field.name: max(getattr(settings, field.name), passes)
        for field in fields(settings)
        if field.name.endswith("epochs")
    }
    patience = max(settings.patience, -(-settings.least_steps // (5 * steps)))
    return replace(settings, batch=batch, patience=patience, **longer)
