"""Where a stream stands, in one file: written now and then while counting, read when an interrupted count goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import atomic_path
from synafa.information.exchange import pack_arrays, unpack_arrays


class Checkpoint:
    """A file that holds a stage's state, or nothing.

    Parameters
    ----------
    path : the file, or None for no checkpoints
    identity : what the state belongs to; a file of other data or settings is refused
    every : seconds between two writes
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: str, every: float = 30.0) -> None:
        self.path = None if path is None else Path(path)
        self.identity, self.every = identity, every
        self.written = time.monotonic()

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The state that was written last; None when there is none."""
        if self.path is None or not self.path.exists():
            return None
        try:
            arrays, meta = unpack_arrays("checkpoint", self.path.read_bytes())
        except SynafaError:
            raise SynafaError(
                f"{str(self.path)!r} is not a checkpoint, or it is damaged; delete it and count again."
            ) from None
        if meta["identity"] != self.identity:
            raise SynafaError(
                f"The checkpoint {str(self.path)!r} belongs to other data or settings; delete it or name another file."
            )
        return arrays, meta["state"]

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and time.monotonic() - self.written >= self.every

    def write(self, arrays: dict[str, np.ndarray], state: dict[str, Any]) -> None:
        """Replace the file by this state."""
        if self.path is not None:
            data = pack_arrays("checkpoint", arrays, {"identity": self.identity, "state": state})
            with atomic_path(self.path) as temporary:
                temporary.write_bytes(data)
            self.written = time.monotonic()

    def remove(self) -> None:
        """Delete the file: the count is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
