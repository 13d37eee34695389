"""A name and an instance into a `Dataset`: find and check the files, read, fill and scale, split; or generate."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synafa.datasets import readers, sources
from synafa.datasets.dataset import Dataset
from synafa.datasets.preprocess import RawTable, fill_and_scale, split_rows
from synafa.datasets.registry import FILES, GENERATED, FileDataset, Variant
from synafa.errors import SynafaError
from synafa.files import cache_dir


def names() -> tuple[str, ...]:
    """Every name `load` knows."""
    return (*FILES, *GENERATED)


def load(name: str, instance: int = 0, **parameters: Any) -> Dataset:
    """Load one dataset of the study, with the split of one instance.

    name : one of `names()`
    instance : seed of the split, and of the generator of a synthetic dataset
    parameters : `alpha` (synergy-sweep), `fraction` (fixed-v), `noise` (cube, cube-nm), `n` (rows to generate)

    >>> data = load("synergy-sweep", alpha=0.5, instance=3)
    >>> data.key, data.X.shape, len(data.test)
    ('synergy-sweep[alpha=0.5]#3', (30000, 24), 6000)
    """
    seed = _seed(instance)
    if name in GENERATED:
        return _generate(name, seed, parameters)
    entry = _file_entry(name)
    if parameters:
        raise SynafaError(f"{name} comes from a file and takes no parameter {next(iter(parameters))!r}; leave it out.")
    variant = _variant_at_hand(name, entry)
    paths = [sources.checked(file, name) for file in variant.files]
    if name == "mnist-loop":  # straight from bytes to float32: 188 MB instead of half a gigabyte
        pixels, y = readers.mnist_loop_pixels(paths)
        X = np.divide(pixels, np.float32(255.0), dtype=np.float32)
        feature_names = readers.PIXEL_NAMES
    else:
        table = variant.read(paths)
        X, y, feature_names = fill_and_scale(table.values), table.y, table.feature_names
    train, validation, test = split_rows(len(y), seed)
    source = f"{entry.source} ({', '.join(file.path for file in variant.files)})"
    costs = np.ones(X.shape[1])
    return Dataset(name, seed, X, y, feature_names, costs, entry.budgets, train, validation, test, source)


def load_raw(name: str) -> RawTable:
    """A file dataset's values before filling and scaling: float64 with NaN for missing cells, text label-encoded."""
    variant = _variant_at_hand(name, _file_entry(name))
    return (variant.read_raw or variant.read)([sources.checked(file, name) for file in variant.files])


def fetch(name: str, progress: bool = True) -> list[Path]:
    """Download a dataset's files into the cache unless they are there and right; returns their paths."""
    if name in GENERATED:
        return []
    entry = _file_entry(name)
    for variant in entry.variants:
        if all(sources.state(file) == "present" for file in variant.files):
            return [sources.checked(file, name) for file in variant.files]
    return [_fetch_file(file, name, progress) for file in entry.variants[entry.fetched].files]


def _fetch_file(file: sources.DataFile, name: str, progress: bool) -> Path:
    """Download one file; an altered one in the user's own folder is reported instead of hidden behind a second copy."""
    path = sources.find(file)
    if path is not None and (sources.state(file) == "present" or not path.is_relative_to(cache_dir())):
        return sources.checked(file, name)
    return sources.download(file, progress)


@dataclass(frozen=True)
class DatasetInfo:
    """One line of `synafa data list`: state is present, missing, altered or generated; size in bytes, 0: unknown."""

    name: str
    title: str
    state: str
    size: int
    licence: str
    source: str
    files: tuple[str, ...]
    addresses: tuple[str, ...]
    sha256: tuple[str, ...]
    note: str


def describe() -> list[DatasetInfo]:
    """What is known of every dataset, with the state of its files on this machine (each file is hashed)."""
    generated = [
        DatasetInfo(name, entry.title, "generated", 0, "", f"parameters {', '.join(entry.parameters)}", (), (), (), "")
        for name, entry in GENERATED.items()
    ]
    return [_describe_files(name, entry) for name, entry in FILES.items()] + generated


def _describe_files(name: str, entry: FileDataset) -> DatasetInfo:
    at_hand = (variant for variant in entry.variants if all(sources.find(file) for file in variant.files))
    variant = next(at_hand, entry.variants[entry.fetched])
    states = {sources.state(file) for file in variant.files}
    state = next(word for word in ("altered", "missing", "present") if word in states)
    offered = entry.variants[entry.fetched].files
    return DatasetInfo(
        name=name,
        title=entry.title,
        state=state,
        size=sum(file.size for file in variant.files),
        licence=entry.licence,
        source=entry.source,
        files=tuple(file.path for file in variant.files),
        addresses=tuple(file.url for file in offered),
        sha256=tuple(file.sha256 for file in variant.files),
        note="" if all(file.verified for file in offered) else "download address not verified",
    )


def _file_entry(name: str) -> FileDataset:
    if name in GENERATED:
        raise SynafaError(f"{name} is generated and has no file; use load({name!r}, ...).")
    if name not in FILES:
        raise SynafaError(f"name must be one of {list(names())}, got: {name!r}.")
    return FILES[name]


def _variant_at_hand(name: str, entry: FileDataset) -> Variant:
    """The first variant whose files are all there; downloaded if none is and the user chose no folder."""
    for variant in entry.variants:
        if all(sources.find(file) for file in variant.files):
            return variant
    wanted = entry.variants[entry.fetched]
    missing = [file for file in wanted.files if sources.find(file) is None]
    if sources.folder_chosen():
        raise SynafaError(sources.missing_message(missing[0], name))
    for file in missing:
        sources.download(file)
    return wanted


def _seed(instance: Any) -> int:
    try:
        seed = operator.index(instance)
    except TypeError:
        seed = -1
    if seed < 0:
        raise SynafaError(f"instance must be an integer from 0 on, got: {instance!r}.")
    return seed


def _generate(name: str, seed: int, parameters: dict[str, Any]) -> Dataset:
    entry = GENERATED[name]
    for key, value in parameters.items():
        if key not in entry.parameters:
            raise SynafaError(f"{name} takes the parameters {list(entry.parameters)}, got: {key!r}.")
        whole = key != "n" or (
            isinstance(value, (int, np.integer)) and value >= 5
        )  # five rows: no part of the split empty
        if not isinstance(value, (int, float, np.number)) or not value >= 0 or not whole:
            raise SynafaError(
                f"{key} must be a {'whole number of at least 5' if key == 'n' else 'number from 0 on'}, got: {value!r}."
            )
    if entry.example and entry.example.split("=")[0] not in parameters:
        raise SynafaError(f"{name} needs {entry.example.split('=')[0]}, for example load({name!r}, {entry.example}).")
    return entry.generate(seed, **parameters)
