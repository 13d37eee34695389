"""Numba's compilation made visible, and its results kept where the next start finds them.

Compiled code is stored beside the package where that folder can be written, else in synafa's cache. What is found there
is not compiled again, so only a first start on a machine (or after an update) has anything to say.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FIRST_START = "Compiling, on the first start only (up to a minute) ..."


def keep_compiled() -> None:
    """Choose a folder for compiled code that can be written; does nothing where one is chosen or the package's can be.

    It must be called before Numba is imported, for Numba reads the choice then.
    """
    if "NUMBA_CACHE_DIR" in os.environ or "numba" in sys.modules or os.access(os.path.dirname(__file__), os.W_OK):
        return
    import tempfile
    from pathlib import Path

    from synafa.files import cache_dir

    own = cache_dir() / "numba"
    try:
        own.mkdir(parents=True, exist_ok=True)
        writable = os.access(own, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        own = Path(tempfile.gettempdir()) / f"synafa-numba-{os.getuid() if hasattr(os, 'getuid') else 0}"
    os.environ["NUMBA_CACHE_DIR"] = str(own)


@contextmanager
def announced(say: Callable[[str], Any]) -> Iterator[None]:
    """Call `say` with one sentence when something is compiled for the first time inside the block.

    Parameters
    ----------
    say : function
        Gets `FIRST_START`, at most once; it is not called when everything is found in the cache.

    Yields
    ------
    None
        Nothing; the block runs.
    """
    from numba.core import event

    class Listener(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                say(FIRST_START)

        def on_end(self, event: Any) -> None:
            pass

    listener = Listener()
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
