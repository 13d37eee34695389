"""Rust libraries that give up: their exception is no `Exception` and passes by ordinary handlers, after printing."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PanicError(Exception):
    """A library written in Rust gave up."""


@contextmanager
def unless_panic() -> Iterator[None]:
    """Turn a panic into a `PanicError`, and keep what it prints on standard error to itself."""
    _ERRORS.hold()
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise PanicError(str(error)) from error
    finally:
        _ERRORS.let_go()


class _Held:
    """Standard error, held back as long as any thread asks for it: the first redirects, the last restores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders, self._kept, self._printed, self._name = 0, -1, -1, ""

    def hold(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._printed, self._name = tempfile.mkstemp(prefix="synafa-said-")
                self._kept = os.dup(2)
                os.dup2(self._printed, 2)

    def let_go(self) -> None:
        """What was printed comes out now, unless a panic is in it."""
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
            os.dup2(self._kept, 2)
            said = Path(self._name).read_bytes()
            for handle in (self._kept, self._printed):
                os.close(handle)
            os.unlink(self._name)
            if b"panicked at" not in said:
                os.write(2, said)


_ERRORS = _Held()
