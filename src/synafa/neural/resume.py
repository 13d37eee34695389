"""A training that was killed goes on where it was, with the numbers it would have had.

Inside `with resuming(path)`, a loop written as `for epoch in resumable("name", count, network=..., optimiser=...)`
stores its parts and torch's generator now and then, and a later run of the same code skips the loops that were
finished, puts the parts of the interrupted one back and continues. Without `resuming` the loop is `range(count)`. The
file is removed when the training is done. Tensors and JSON values only: nothing is executed when it is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import torch

from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError

KIND = "unfinished training"
EVERY = 30.0  # seconds between two saves; a save of these networks takes milliseconds


class _Resume:
    """One training's file: which loops are done, which one was interrupted, and its parts."""

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = path, every
        self.done: list[str] = []
        self.stored: dict[str, Any] | None = _read(path)
        if self.stored is not None:
            self.done = list(self.stored["done"])
        self.saved = time.monotonic()

    def save(self, name: str, reached: int, parts: dict[str, Any]) -> None:
        state = {key: _state(part) for key, part in parts.items()}
        whole = {"done": self.done, "loop": name, "reached": reached, "parts": state, "rng": torch.get_rng_state()}
        arrays: list[np.ndarray] = []
        meta = _flat(whole, arrays)
        write_file(self.path, KIND, {str(i): array for i, array in enumerate(arrays)}, {"whole": meta})
        self.saved = time.monotonic()

    def start(self, name: str, parts: dict[str, Any]) -> int:
        """Put the parts back if this loop was interrupted; at which iteration to go on."""
        stored = self.stored
        if stored is None or stored["loop"] != name or set(stored["parts"]) != set(parts):
            return 0
        self.stored = None
        for key, part in parts.items():
            _restore(part, stored["parts"][key])
        torch.set_rng_state(stored["rng"])
        return int(stored["reached"])


_CURRENT: ContextVar[_Resume | None] = ContextVar("resume", default=None)


@contextmanager
def resuming(path: str | Path | None, every: float | None = None) -> Iterator[None]:
    """Store the training inside at `path` every so many seconds, and go on from there if it was stored before."""
    if path is None:
        yield
        return
    token = _CURRENT.set(_Resume(Path(path), EVERY if every is None else every))
    try:
        yield
        Path(path).unlink(missing_ok=True)
    finally:
        _CURRENT.reset(token)


def resume_folder() -> Path | None:
    """The folder of the training that can be resumed, None outside of one."""
    current = _CURRENT.get()
    return None if current is None else current.path.parent


def resumable(name: str, count: int, **parts: Any) -> Iterator[int]:
    """`range(count)`, or what is left of it after an interruption; nothing if the loop was finished.

    `parts` is everything that the loop changes: modules, optimisers, NumPy generators, objects with `state_dict` and
    `load_state_dict`, and dicts of tensors and plain values. `name` must be unique within the training.
    """
    current = _CURRENT.get()
    if current is None:
        yield from range(count)
        return
    if name in current.done:
        return
    try:
        for number in range(current.start(name, parts), count):
            yield number
            if time.monotonic() - current.saved >= current.every:
                current.save(name, number + 1, parts)
    finally:
        current.done.append(name)


def _state(part: Any) -> Any:
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    if isinstance(part, MutableMapping):
        return dict(part)
    return part.state_dict()


def _restore(part: Any, state: Any) -> None:
    if isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, MutableMapping):
        part.clear()
        part.update(state)
    else:
        part.load_state_dict(state)


def _flat(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON; tensors and arrays are collected and referred to by number."""
    if isinstance(value, torch.Tensor):
        arrays.append(value.detach().cpu().numpy().copy())
        return {"tensor": len(arrays) - 1}
    if isinstance(value, np.ndarray):
        arrays.append(value.copy())
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"items": [[_flat(key, arrays), _flat(inner, arrays)] for key, inner in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_flat(inner, arrays) for inner in value], "tuple": isinstance(value, tuple)}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise SynafaError(f"A {type(value).__name__} cannot be stored with an unfinished training; use tensors.")


def _round(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """What `_flat` took apart."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.from_numpy(np.array(arrays[str(value["tensor"])]))
    if "array" in value:
        return np.array(arrays[str(value["array"])])
    if "items" in value:
        return {_round(key, arrays): _round(inner, arrays) for key, inner in value["items"]}
    inside = [_round(inner, arrays) for inner in value["list"]]
    return tuple(inside) if value["tuple"] else inside


def _read(path: Path) -> dict[str, Any] | None:
    """The stored state; a damaged file counts as none."""
    if not path.exists():
        return None
    try:
        arrays, meta = read_file(path, KIND)
        whole: dict[str, Any] = _round(meta["whole"], arrays)
    except (SynafaError, KeyError, TypeError):
        return None
    return whole
