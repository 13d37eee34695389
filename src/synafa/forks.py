"""Lets a process that was forked after parallel work go on computing, one thread at a time.

GNU's OpenMP ends a forked child at its first parallel loop. In such a child every parallel kernel is replaced by the
same function compiled without threads: results are the same, and the parent is untouched.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def watch() -> None:
    """Have children of this process look after their kernels; costs nothing where nobody forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    """In a forked child: replace the parallel kernels if the parent's threads cannot be used here."""
    numba: Any = sys.modules.get("numba")
    if numba is None or not _uses_openmp(numba):
        return
    make = numba.njit
    for module in [module for name, module in sys.modules.items() if name.startswith("synafa.")]:
        for name, value in list(vars(module).items()):
            options = getattr(value, "targetoptions", None)
            if isinstance(options, dict) and options.get("parallel") and hasattr(value, "py_func"):
                setattr(module, name, _serial(make, value, options))

    def njit(*args: Any, **options: Any) -> Any:
        """`numba.njit` for modules that this child imports later."""
        return make(*args, **_without_threads(options) if options.get("parallel") else options)

    vars(numba)["njit"] = njit


def _uses_openmp(numba: Any) -> bool:
    try:
        return numba.threading_layer() == "omp"
    except ValueError:  # no parallel loop has run yet: the child may start its own threads
        return False


def _serial(make: Any, kernel: Any, options: dict[str, Any]) -> Any:
    """The kernel without threads; the compiled one is not looked for in the cache, which holds the parallel one."""
    made = getattr(kernel, "_synafa_serial", None)
    if made is None:
        made = make(**_without_threads(options))(kernel.py_func)
        kernel._synafa_serial = made  # the same object under every name it was imported as
    return made


def _without_threads(options: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name not in ("parallel", "cache", "nopython")}
    return {**kept, "cache": False}
