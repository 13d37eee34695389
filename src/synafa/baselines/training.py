"""Trains a baseline or takes it from the cache: name + dataset + budget + profile + seed -> policy.

A trained policy is one safetensors file whose header carries a JSON text; its name is a hash of the configuration, the
settings, the method's version and the dataset's content. It is written atomically, so that an interrupted run resumes
with every model that was finished, and inside the one that was not (`synafa.neural.resume`); it is loaded without
executing anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from synafa.arrays import read_file, write_file
from synafa.baselines.registry import Baseline, find
from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.files import cache_dir, content_hash

Progress = Callable[[float, str], None]
"""Called with the share of the work done (0..1, an upper bound under early stopping) and a short text."""

State = tuple[dict[str, np.ndarray], dict[str, Any]]
KIND = "trained baseline"


def train(
    name: str,
    dataset: Dataset,
    budget: float,
    classifier: Any = None,
    profile: str = "standard",
    seed: int = 0,
    cache: str | Path | bool | None = None,
    progress: Progress | None = None,
    faithful: bool = False,
) -> Any:
    """Train the baseline `name` on `dataset` for `budget`, or load it if the same training was done before.

    Parameters
    ----------
    classifier : the shared classifier, for the methods that ask it (see `Baseline.needs_classifier`)
    profile : "paper", "standard" or "quick"
    cache : folder of trained models; None for the user's, False for none
    progress : called with (share done, text)
    faithful : reproduce the study's choices where they differ from sensible ones
    """
    entry = find(name)
    if entry.needs_classifier and classifier is None:
        raise SynafaError(f"The baseline {name!r} asks the shared classifier; pass classifier=...")
    cls, settings = entry.cls(), entry.settings(profile, dataset)
    path = None
    if cache is not False and entry.trained:
        path = _path(entry, dataset, budget, classifier, settings, profile, seed, cache, faithful)
    stored = stored_state(path)
    if stored is not None:
        policy = cls.from_state(*stored)
    else:
        policy = cls(faithful=faithful)
        with _resuming(path):
            policy.fit(dataset, budget, settings, seed, classifier=classifier, progress=progress)
        if path is not None:
            arrays, meta = policy.state()
            save_state(path, arrays, {**meta, "baseline": name, "dataset": dataset.key, "profile": profile})
    if entry.needs_classifier:
        policy.classifier = classifier
    policy.name, policy.profile, policy.faithful = name, profile, faithful
    if progress is not None:
        progress(1.0, f"{name} {'loaded' if stored is not None else 'trained'}")
    return policy


def stored_or_built(path: Path, build: Callable[[], State]) -> State:
    """What is stored at `path`; else built now, and stored."""
    stored = stored_state(path)
    if stored is None:
        stored = build()
        save_state(path, *stored)
    return stored


def save_state(path: str | Path, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Write arrays and JSON values as one file, atomically."""
    write_file(path, KIND, arrays, meta, own=True)


def load_state(path: str | Path) -> State:
    """Read what `save_state` wrote."""
    return read_file(path, KIND)


def save(policy: Any, path: str | Path) -> None:
    """Write a trained policy of the registry to one file."""
    arrays, meta = policy.state()
    extra = {"baseline": policy.name, "faithful": policy.faithful, "profile": getattr(policy, "profile", None)}
    save_state(path, arrays, {**meta, **extra})


def load(path: str | Path, classifier: Any = None) -> Any:
    """Read a policy written by `save`."""
    arrays, meta = load_state(path)
    entry = find(str(meta.get("baseline")))
    policy = entry.cls().from_state(arrays, meta)
    if entry.needs_classifier and classifier is not None:
        policy.classifier = classifier
    policy.name, policy.faithful, policy.profile = entry.name, bool(meta.get("faithful")), meta.get("profile")
    return policy


def _resuming(path: Path | None) -> AbstractContextManager[None]:
    """A killed training of this file goes on where it was."""
    if path is None:
        return nullcontext()
    from synafa.neural.resume import resuming

    return resuming(path.with_suffix(".unfinished"))


def stored_state(path: Path | None) -> State | None:
    """What an earlier training left at `path`; a damaged file counts as none and is overwritten."""
    if path is None or not path.exists():
        return None
    try:
        return load_state(path)
    except SynafaError:
        return None


def _folder(cache: str | Path | bool | None) -> Path:
    return cache_dir() / "baselines" if cache is None or cache is True else Path(str(cache))


def _path(
    entry: Baseline,
    dataset: Dataset,
    budget: float,
    classifier: Any,
    settings: Any,
    profile: str,
    seed: int,
    cache: str | Path | bool | None,
    faithful: bool,
) -> Path | None:
    """The file of this training; None when the classifier cannot be told from another one."""
    fitted_to: str | None = None
    if entry.needs_classifier:
        layers = classifier_layers(classifier)
        if layers is None:
            return None
        fitted_to = layers_hash(layers)
    key = {
        "method": entry.where,
        "version": entry.cls().version,
        "revision": entry.revision,
        "settings": asdict(settings),
        "profile": profile,
        "seed": seed,
        "budget": float(budget) if entry.per_budget else None,
        "faithful": faithful,
        "dataset": dataset.fingerprint(),
        "classifier": fitted_to,
    }
    return _folder(cache) / f"{entry.name}-{content_hash(key)}.safetensors"


def classifier_layers(classifier: Any) -> tuple[np.ndarray, ...] | None:
    """The weights of a classifier that offers them as `layers` (w1, b1, w2, b2, ...; weights (out, in)), else None."""
    layers = getattr(classifier, "layers", None)
    return None if layers is None or callable(layers) else tuple(np.asarray(layer) for layer in layers)


def layers_hash(layers: tuple[np.ndarray, ...]) -> str:
    digest = hashlib.sha256()
    for layer in layers:
        digest.update(str((layer.dtype.str, layer.shape)).encode())
        digest.update(np.ascontiguousarray(layer).tobytes())
    return digest.hexdigest()[:20]
