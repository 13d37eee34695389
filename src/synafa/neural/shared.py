"""The shared classifier of a dataset, trained once and then read from the cache.

The cache is addressed by a hash of the full configuration, the seed and the dataset's content.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.files import cache_dir, content_hash
from synafa.neural.masked_mlp import FORMAT, MaskedMLP
from synafa.neural.resume import resuming
from synafa.neural.settings import config_for
from synafa.neural.training import Progress, mostly_hidden

SWEEPS = ("synergy-sweep", "fixed-v")


def shared_classifier(
    dataset: Dataset,
    profile: str = "standard",
    seed: int = 0,
    cache: str | os.PathLike[str] | bool | None = None,
    progress: Progress | None = None,
) -> MaskedMLP:
    """The dataset's masked MLP, from the cache if it was trained before.

    Parameters
    ----------
    profile : "paper" (published epochs), "standard" (the same but for MiniBooNE) or "quick" (tests)
    cache : folder of trained classifiers; None for `classifiers` in the user's cache, False for none
    progress : called as `progress(share, text)` after every epoch; not called when nothing is trained

    The instances of a synthetic sweep share the classifier of instance 0, as in the study.
    """
    dataset = training_dataset(dataset)
    config = config_for(dataset, profile)
    if cache is False:
        return MaskedMLP.fit(dataset, config, seed=seed, progress=progress, profile=profile)
    named = {"format": FORMAT, "config": asdict(config), "seed": seed, "dataset": dataset.fingerprint()}
    if mostly_hidden(dataset.n_features, config):
        named["first_layer"] = "sums"  # rounded differently than the products of earlier versions
    key = content_hash(named)
    folder = cache_dir() / "classifiers" if cache is None or cache is True else Path(cache)
    path = folder / f"{dataset.name}-{key}.safetensors"
    if path.exists():
        try:
            return replace(MaskedMLP.load(path), profile=profile)
        except SynafaError:
            pass  # a damaged cache entry is trained again and overwritten below
    with resuming(path.with_suffix(".unfinished")):
        model = MaskedMLP.fit(dataset, config, seed=seed, progress=progress, profile=profile)
        model.save(path, own=True)
    return model


def training_dataset(dataset: Dataset) -> Dataset:
    """The dataset whose rows train the shared classifier: instance 0 for a synthetic sweep, else the dataset itself."""
    if dataset.name in SWEEPS and dataset.instance != 0:
        from synafa.datasets import load

        return load(dataset.name, instance=0, **dict(dataset.parameters))
    return dataset
