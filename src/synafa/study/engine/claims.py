"""Who computes which unit: a lock per unit, so that two runs in one folder share the work instead of doubling it.

The lock is the operating system's and ends with the process that holds it, however that process ends.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: every run computes what it needs, as if it were alone
    fcntl = None  # type: ignore[assignment]


class Claims:
    """Locks that this process holds, by path.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "unit.lock")
    >>> ours, theirs = Claims(), Claims()
    >>> ours.take(path), theirs.take(path)
    (True, False)
    >>> ours.release(path)
    >>> theirs.take(path)
    True
    """

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def take(self, path: Path) -> bool:
        """Whether the lock is now ours; it is not when another run holds it."""
        if fcntl is None or path in self._held:
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino != os.stat(path).st_ino:  # released and removed by its holder just now
                raise FileNotFoundError(path)
        except FileNotFoundError:
            os.close(handle)
            return False  # the next round makes a new one
        except OSError as error:
            os.close(handle)
            # A file system without locks: as if alone.
            return not isinstance(error, BlockingIOError)
        self._held[path] = handle
        return True

    def release(self, path: Path) -> None:
        """Give the lock back, if it is ours, and remove its file."""
        handle = self._held.pop(path, None)
        if handle is not None:
            with suppress(OSError):
                os.unlink(path)
            os.close(handle)

    def release_all(self) -> None:
        for path in list(self._held):
            self.release(path)
