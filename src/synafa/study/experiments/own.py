"""What a user brings: a policy as `module:Class`, a table as a file; turned into what the study's units run.

A policy class has `fit(X, y)` (training rows) and `propose(values, mask, remaining)`; `budget`, `costs` and `seed` are
handed to its constructor if it takes them. A table is split 60/20/20 by the instance's seed; columns are encoded,
filled and scaled with its training rows only.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError

PREFIX = "file:"


def load_policy(where: str) -> type:
    """The class that `module:Class` names."""
    module, _, name = where.partition(":")
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise SynafaError(f"There is no module {error.name!r} for the policy {where!r}; is it importable?") from None
    except AttributeError:
        raise SynafaError(f"The module {module!r} has no {name!r}; write module:Class.") from None
    if not callable(getattr(found, "propose", None)):
        raise SynafaError(f"{where!r} has no method propose(values, mask, remaining); see docs/evaluation.md.")
    return found


def fit_policy(where: str, dataset: Dataset, budget: float, seed: int) -> Any:
    """The class's policy, fitted on the dataset's training rows."""
    cls = load_policy(where)
    offered = {"budget": budget, "costs": dataset.costs, "seed": seed}
    taken = inspect.signature(cls).parameters
    policy = cls(**{name: value for name, value in offered.items() if name in taken})
    if hasattr(policy, "fit"):
        policy = policy.fit(dataset.X[dataset.train], dataset.y[dataset.train]) or policy
    return policy


def load_table(path: str | Path, target: str, instance: int = 0) -> Dataset:
    """A CSV or Parquet file as a dataset; budgets are about an eighth, a quarter and a half of the features."""
    from synafa.datasets.preprocess import split_rows
    from synafa.table.encoder import TableEncoder
    from synafa.table.reading import read_table, split_target

    frame, labels = split_target(read_table(Path(path)), target)
    classes, y = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise SynafaError(f"The column {target!r} has one class only; a table to rank policies on needs two.")
    train, validation, test = split_rows(len(y), instance)
    encoder = TableEncoder().fit(frame[train.tolist()])
    values = encoder.transform(frame)
    with np.errstate(invalid="ignore"):
        known = values[train]
        filled = np.where(np.isnan(known).all(axis=0), 0.0, np.nan_to_num(np.nanmean(known, axis=0)))
    values = np.where(np.isnan(values), filled, values)
    spread = values[train].std(axis=0)
    X = ((values - values[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    d = X.shape[1]
    budgets = tuple(sorted({float(max(1, round(d * share))) for share in (0.125, 0.25, 0.5)}))
    return Dataset(
        name=f"table-{Path(path).stem}",
        instance=instance,
        X=X,
        y=y.astype(np.int64),
        feature_names=tuple(frame.columns),
        costs=np.ones(d),
        budgets=budgets,
        train=train,
        validation=validation,
        test=test,
        source=str(path),
    )
