"""How much memory this process may still take, and sizes in words."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def available_bytes() -> int | None:
    """Memory that can still be had without swapping, within the limit of a container; None where nobody tells."""
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")))
    with suppress(OSError, ValueError):
        most = int(Path("/sys/fs/cgroup/memory.max").read_text())
        found.append(max(most - int(Path("/sys/fs/cgroup/memory.current").read_text()), 0))
    if not found and hasattr(os, "sysconf"):
        with suppress(OSError, ValueError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(found, default=None)


def size_in_words(count: float) -> str:
    """Bytes for a reader.

    >>> size_in_words(3_300_000_000)
    '3.1 GiB'
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
