"""Files that are never half-written, and the places where synafa keeps them.

A file is written beside its target, flushed to disk, and renamed; links are followed, and devices and pipes, which
cannot be renamed over, are written to.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError, retold

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, own: bool = False) -> Iterator[Path]:
    """Yield a temporary path; what is written there becomes `path` on success and vanishes on failure.

    Parameters
    ----------
    path : str or path
        A file, which is replaced by renaming after both it and its folder have been flushed to disk; a link, which is
        followed; a device or a pipe (`/dev/stdout`), which is written to.
    own : bool, default False
        The place is synafa's own (a cache, a result): a folder that stands in the way is set aside.

    Raises
    ------
    SynafaError
        When `path` is a folder, or when the disk is full.

    Examples
    --------
    >>> folder = tempfile.mkdtemp()
    >>> with atomic_path(Path(folder, "a.txt")) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> os.listdir(folder)
    ['a.txt']
    """
    target = Path(path)
    if target.is_dir():
        if not own:
            raise SynafaError(f"{str(target)!r} is a folder; give the name of a file.")
        set_aside(target)
    stream = is_stream(target)
    folder = Path(tempfile.gettempdir()) if stream else Path(os.path.realpath(target)).parent
    if not stream:
        target = Path(os.path.realpath(target))
        folder.mkdir(parents=True, exist_ok=True)
    with _disk_full_in_words(target):
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", suffix=".tmp", dir=folder)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            if stream:
                _pour(temporary, target)
            else:
                temporary.chmod(_mode(target))
                flush(temporary)
                os.replace(temporary, target)
                flush(folder)
        finally:
            temporary.unlink(missing_ok=True)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether writing to a path means handing bytes to a device, a pipe or an open stream, not making a file."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Whether a path is another name of this program's standard output."""
    return _descriptor(path) == 1


def set_aside(path: Path) -> Path:
    """Rename what stands at a place of our own, so that the place is free; nothing is deleted."""
    number = 1
    while (aside := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    path.rename(aside)
    return aside


def flush(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on disk (where the system can say so)."""
    flags = os.O_RDONLY if path.is_dir() or os.name != "nt" else os.O_RDWR
    with suppress(OSError):  # a folder cannot be opened on Windows, and some file systems do not know the call
        handle = os.open(path, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def disk_full(error: BaseException) -> bool:
    """Whether an error, of whichever library, means that no space is left, or came while one that does was handled."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in _NO_SPACE:
            return True
        if re.search(r"no space left|disk quota exceeded|os error (28|122)", str(seen), re.IGNORECASE):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _disk_full_in_words(target: Path) -> AbstractContextManager[None]:
    text = f"The disk is full: {str(target)!r} could not be written; make room first."
    return retold(lambda error: text if disk_full(error) else "")


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number behind `/dev/stdout`, `/dev/fd/3` and their like."""
    text = os.fspath(path)
    names = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    found = re.fullmatch(r"(?:/dev|/proc/self)/fd/(\d{1,6})", text) if isinstance(text, str) else None
    return int(found[1]) if found else names.get(str(text))


def _pour(source: Path, target: Path) -> None:
    """Copy a finished file into a device, a pipe or an open stream."""
    number = _descriptor(target)
    if number == 1:
        sys.stdout.flush()
    with source.open("rb") as file, open(os.dup(number) if number is not None else target, "wb") as out:
        while piece := file.read(1 << 20):
            out.write(piece)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, else those of an ordinary new file."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file atomically, keys in their given order."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def cache_dir() -> Path:
    """The folder for trained models and downloaded files: `SYNAFA_CACHE`, else the user's cache directory."""
    chosen = os.environ.get("SYNAFA_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "synafa"


def content_hash(value: Any, length: int = 20) -> str:
    """A short hash of a JSON-serialisable value, the same on every machine."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:length]
