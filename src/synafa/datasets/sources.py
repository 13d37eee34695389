"""Where the study's files are: `SYNAFA_DATA`, else the cache, else a download; each is checked against its sha256.

A download goes to a temporary folder, is checked there and only then moved into place, so that a failed or altered one
leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from synafa.errors import MissingExtraError, SynafaError
from synafa.files import atomic_path, cache_dir

State = Literal["present", "missing", "altered"]


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    path : its place inside the data folder
    sha256, size : what it must be, in bytes (size 0: not known)
    url : the address to download from, empty if there is none
    member : the name inside the zip archive at that address, empty if the address is the file itself
    archive_sha256 : hash of that archive, empty if not known (the member is checked in any case)
    verified : whether the hash was taken from a file of just this address; otherwise the address was never tried
    """

    path: str
    sha256: str
    size: int
    url: str = ""
    member: str = ""
    archive_sha256: str = ""
    verified: bool = True


def data_folders() -> list[Path]:
    """The folders searched, in order."""
    chosen = os.environ.get("SYNAFA_DATA")
    return ([Path(chosen)] if chosen else []) + [cache_dir() / "data"]


def folder_chosen() -> bool:
    """Whether the user named a data folder; then nothing is downloaded unasked."""
    return bool(os.environ.get("SYNAFA_DATA"))


def find(file: DataFile) -> Path | None:
    """The first place where the file is, unchecked."""
    return next((folder / file.path for folder in data_folders() if (folder / file.path).is_file()), None)


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise SynafaError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error


def state(file: DataFile) -> State:
    """Whether the file is there and is the right one."""
    path = find(file)
    if path is None:
        return "missing"
    return "present" if sha256_of(path) == file.sha256 else "altered"


def checked(file: DataFile, name: str) -> Path:
    """The path of a file of the dataset `name`, once its content is known to be right."""
    path = find(file)
    if path is None:
        raise SynafaError(missing_message(file, name))
    found = sha256_of(path)
    if found != file.sha256:
        size = path.stat().st_size
        expected = f" ({file.size} bytes)" if file.size else ""
        raise SynafaError(
            f"{path} is altered or cut short: expected sha256 {file.sha256}{expected}, found {found} ({size} bytes);"
            f" delete it and run `synafa data fetch {name}`, or replace it by the original file."
        )
    return path


def missing_message(file: DataFile, name: str) -> str:
    """One sentence about a file that is nowhere."""
    folders = " nor ".join(str(folder) for folder in data_folders())
    return (
        f"{file.path} (sha256 {file.sha256}) is not in {folders}:"
        f" run `synafa data fetch {name}`, or set SYNAFA_DATA to a folder that has it."
    )


def download(file: DataFile, progress: bool = True) -> Path:
    """Download one file into the cache, check it, and only then put it in its place."""
    if not file.url:
        raise SynafaError(f"{file.path} has no download address: put it into the folder named by SYNAFA_DATA.")
    target = cache_dir() / "data" / file.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=cache_dir() / "data") as folder:
            arrived = _retrieve(file, Path(folder), progress)
            found = sha256_of(arrived)
            if found != file.sha256:
                raise SynafaError(
                    f"{file.path} from {file.url} has sha256 {found} where {file.sha256} was expected;"
                    " nothing was kept: try again later, or put the original file into the folder named by SYNAFA_DATA."
                )
            with atomic_path(target) as temporary:
                os.replace(arrived, temporary)
    except SynafaError:
        raise
    except Exception as error:  # the network fails in many ways, and each ends the same for the user
        text = str(error).split("\n")[0]
        reason = text if 0 < len(text) <= 100 else type(error).__name__  # a network library tells its whole story
        raise SynafaError(
            f"{file.path} (sha256 {file.sha256}) could not be downloaded from {file.url} ({reason}); nothing was kept:"
            " try again later, or put the file into the folder named by SYNAFA_DATA."
        ) from error
    return target


def _retrieve(file: DataFile, folder: Path, progress: bool) -> Path:
    """Fetch the address into a folder and take the wanted member out of an archive."""
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise MissingExtraError("pooch", "data") from error

    known = file.archive_sha256 if file.member else file.sha256
    bar: Any = _Bar(file.path) if progress else False
    quiet = pooch.get_logger()
    level = quiet.level
    quiet.setLevel("WARNING")
    try:
        arrived = Path(
            pooch.retrieve(
                file.url,
                known_hash=f"sha256:{known}" if known else None,
                fname="download",
                path=folder,
                downloader=pooch.HTTPDownloader(progressbar=bar, timeout=30),
            )
        )
    finally:
        quiet.setLevel(level)
        if progress:
            bar.close()
    if not file.member:
        return arrived
    with (
        zipfile.ZipFile(arrived) as archive,
        archive.open(file.member) as inside,
        (folder / "member").open("wb") as out,
    ):
        shutil.copyfileobj(inside, out)
    return folder / "member"


class _Bar:
    """Pooch's progress bar, drawn by Rich on standard error."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(title, total=None)
        self.total = 0  # Pooch sets it
        self._progress.start()

    def update(self, amount: int) -> None:
        self._progress.update(self._task, advance=amount, total=self.total or None)

    def reset(self) -> None:
        self._progress.reset(self._task, total=self.total or None)

    def close(self) -> None:
        self._progress.stop()
