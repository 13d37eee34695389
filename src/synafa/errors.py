"""The errors a user can cause: one sentence that names the offending thing and says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SynafaError(ValueError):
    """Bad input or a bad file; the message is one sentence meant for the person at the keyboard."""


class MissingExtraError(SynafaError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'synafa[{extra}]'.")


@contextmanager
def retold(sentence: Callable[[Exception], str]) -> Iterator[None]:
    """Turn what a library raises inside into `sentence(error)`; where that is "", the error goes on as it is."""
    try:
        yield
    except SynafaError:
        raise
    except Exception as error:
        if text := sentence(error):
            raise SynafaError(text) from error
        raise
