"""Rust libraries that give up: their exception is no `Exception` and passes by ordinary handlers, after printing."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


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
        self._holders, self._kept = 0, -1
        self._printed: IO[bytes] | None = None

    def hold(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._printed = tempfile.TemporaryFile()
                self._kept = os.dup(2)
                os.dup2(self._printed.fileno(), 2)

    def let_go(self) -> None:
        """What was printed comes out now, unless a panic is in it."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._printed is not None:
                os.dup2(self._kept, 2)
                os.close(self._kept)
                with self._printed as printed:
                    printed.seek(0)
                    said = printed.read()
                if b"panicked at" not in said:
                    os.write(2, said)


_ERRORS = _Held()
