"""Anything that yields Arrow record batches, as a table that can be read batch by batch and more than once.

Files (CSV, TSV, Parquet), folders and patterns of them are read by Polars, file by file or with the rows of each told
apart, so that whatever is wrong is said with the file's name. Polars lazy frames, pyarrow datasets and objects with
`__arrow_c_stream__` (DuckDB relations, pyarrow tables and readers) are read as they are; what can be read only once
goes to temporary Parquet files first.
"""

from __future__ import annotations

import glob
import hashlib
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from synafa.errors import MissingExtraError, SynafaError, retold
from synafa.stream import files
from synafa.stream.batches import Batch, merged_frames
from synafa.stream.together import Files, joined_batches
from synafa.table.notices import Tell, warn
from synafa.table.panics import PanicError, unless_panic

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")
BATCH_CELLS = 1 << 23  # cells of a batch, about
SPOOLED_ROWS = 1 << 20  # rows of a temporary file, about
SPOTS = 4  # places a sample is taken from; each costs the reading of a row group


@dataclass
class Source:
    """A table in parts, each of which can be read again.

    Attributes
    ----------
    schema : Polars types by column name
    parts : what to read, one after the other: a lazy frame each, made when it is needed
    names : how errors call each part
    rows : how many rows each part has, where that is known without reading
    identity : tells whether a checkpoint belongs to these data
    joined : one lazy frame of all parts from one on, where that can be had
    """

    schema: dict[str, pl.DataType]
    parts: list[Callable[[], Any]]
    names: list[str]
    rows: list[int | None]
    identity: str
    paths: list[Path] = field(default_factory=list)
    joined: Callable[[int], Any] | None = None
    owner: Any = None  # keeps temporary files alive

    @property
    def n_rows(self) -> int | None:
        """All rows, where that is known without reading."""
        known = [n for n in self.rows if n is not None]
        return sum(known) if len(known) == len(self.rows) else None

    def batches(
        self, columns: Sequence[str] | None = None, *, part: int = 0, first: int = 0, together: bool = False
    ) -> Iterator[Batch]:
        """All rows from row `first` of a part on, in order; empty batches are left out.

        together : read parts as one where they can be, which is faster when all are wanted
        """
        import polars as pl

        wanted = list(self.schema) if columns is None else list(columns)
        size = max(1024, BATCH_CELLS // max(1, len(wanted)))
        if together and self.joined is not None and len(self.parts) - part > 1:
            files = Files(self.joined, self.names, self.rows, lambda: self.batches(wanted, part=part))
            if (yield from joined_batches(files, wanted, size, part, first)):
                return
        for number in range(part, len(self.parts)):
            done = first if number == part else 0
            with reading(self.names[number]):
                lazy = self.parts[number]()
                frames: Iterator[pl.DataFrame]
                if isinstance(lazy, pl.LazyFrame):
                    frames = merged_frames(lazy.select(wanted).slice(done).collect_batches(lazy=True), size // 4)
                else:
                    frames = _skip(lazy, done)
            while True:
                with reading(self.names[number]):
                    frame = next(frames, None)
                if frame is None:
                    self._check_whole(number, done)
                    break
                for piece in frame.iter_slices(2 * size) if frame.height > 2 * size else [frame]:
                    if piece.height:
                        yield Batch(piece.select(wanted), self.names[number], number, done)
                        done += piece.height

    def _check_whole(self, number: int, done: int) -> None:
        """Refuse a part that ended before its last row: a reader that gives up in a thread just ends."""
        rows = self.rows[number]
        if rows is not None and done < rows:
            raise SynafaError(
                f"{self.names[number]} cannot be read beyond row {done:,} of {rows:,}; it is damaged: fetch it again."
            )

    def sample(self, columns: Sequence[str], n: int) -> pl.DataFrame:
        """About n rows from places spread over the parts; from the beginnings of parts of unknown length."""
        import polars as pl

        chosen = sorted({i * len(self.parts) // SPOTS for i in range(SPOTS)})
        pieces = []
        for number in chosen:
            length, share = self.rows[number], -(-n // len(chosen))
            with reading(self.names[number]):
                lazy = self.parts[number]()
                if not isinstance(lazy, pl.LazyFrame):
                    pieces.append(next(iter(lazy), pl.DataFrame(schema=self.schema)).select(columns).head(share))
                    continue
                spots = 1 if length is None or length <= share else max(1, SPOTS // len(chosen))
                for spot in range(spots):
                    begin = 0 if length is None else spot * length // spots
                    pieces.append(lazy.select(columns).slice(begin, -(-share // spots)).collect())
        return pl.concat(pieces, how="vertical_relaxed")


def open_source(
    source: Any, *, as_text: Sequence[str] = (), nearly_numeric: str = "missing", tell: Tell = warn
) -> Source:
    """A `Source` of a path, a folder, a pattern, a list of paths, a frame, or anything that streams Arrow batches.

    as_text : columns of CSV files to which `nearly_numeric` does not apply, such as the target
    nearly_numeric, tell : as for `read_table`

    Examples
    --------
    >>> import polars as pl
    >>> table = open_source(pl.LazyFrame({"a": [1, 2, 3], "y": [0, 1, 1]}))
    >>> [batch.frame.height for batch in table.batches(["a"])]
    [3]
    """
    import polars as pl

    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return _of_files(find_files(source), nearly_numeric, as_text, tell)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        return _of_files([path for item in source for path in find_files(item)], nearly_numeric, as_text, tell)
    if isinstance(source, pl.DataFrame):
        return _of_frame(source.lazy(), source.height)
    if isinstance(source, pl.LazyFrame):
        return _of_frame(source, None)
    if isinstance(source, list | tuple) and source and all(isinstance(item, pl.DataFrame) for item in source):
        return _of_frames(list(source))
    return _of_arrow(source)


def find_files(pattern: str | os.PathLike[str]) -> list[Path]:
    """The files of a path, a folder or a pattern, in order of their names."""
    text = os.fspath(pattern)
    path = Path(text)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if files.kind_of(p) and p.is_file() and not p.name.startswith("."))
        if not found:
            raise SynafaError(f"The folder {text!r} holds no CSV or Parquet file.")
        return found
    if path.exists() or not glob.has_magic(text):
        return [path]
    found = sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file())
    if not found:
        raise SynafaError(f"No file matches {text!r}.")
    return found


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what Polars or pyarrow say about a part, or a panic of theirs, into one sentence that names it."""

    def sentence(error: Exception) -> str:
        if isinstance(error, PanicError):
            return f"{name} cannot be read; it is damaged: fetch it again."
        home = type(error).__module__.split(".")[0]
        if home not in ("polars", "pyarrow", "duckdb") and not isinstance(error, OSError | UnicodeDecodeError):
            return ""
        said = (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
        return f"{name} cannot be read: {said}."

    with retold(sentence), unless_panic():
        yield


def _of_files(paths: list[Path], nearly_numeric: str, as_text: Sequence[str], tell: Tell) -> Source:
    """Files of one kind with the same columns, in one order."""
    kinds = {files.kind_of(path) for path in paths}
    for path in paths:
        files.check_file(path)
    if len(kinds) > 1:
        odd = next(path for path in paths if files.kind_of(path) != files.kind_of(paths[0]))
        raise SynafaError(f"{str(odd)!r} and {str(paths[0])!r} are of different kinds; give CSV or Parquet files only.")
    names = [repr(str(path)) for path in paths]
    if kinds == {"csv"}:
        from synafa.stream.csv_files import scan_csv

        schema, scans, rows = scan_csv(paths, nearly_numeric, as_text, tell)
        joined = None
    else:
        schema, scans, rows, joined = files.scan_parquet(paths)
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path}\0{path.stat().st_size}\0{path.stat().st_mtime_ns}\n".encode())
    return Source(schema, scans, names, rows, digest.hexdigest(), list(paths), joined)


def _of_frame(lazy: pl.LazyFrame, n_rows: int | None) -> Source:
    with reading("The frame"):
        schema = dict(lazy.collect_schema())
    return Source(schema, [lambda: lazy], ["the frame"], [n_rows], f"frame {list(schema)} {n_rows}")


def _of_frames(frames: list[pl.DataFrame]) -> Source:
    names = [f"frame {i + 1}" for i in range(len(frames))]
    schema = files.one_schema(names, [dict(frame.schema) for frame in frames])
    parts: list[Callable[[], Any]] = []
    for frame in frames:
        parts.append(frame.lazy().with_columns(*files.casts(dict(frame.schema), schema)).lazy)
    rows: list[int | None] = [frame.height for frame in frames]
    return Source(schema, parts, names, rows, f"frames {rows} {list(schema)}")


def _of_arrow(source: Any) -> Source:
    """Objects of the Arrow stream protocol, and pyarrow datasets."""
    dataset = hasattr(source, "to_batches") and hasattr(source, "schema") and not hasattr(source, "__arrow_c_stream__")
    if not dataset and not hasattr(source, "__arrow_c_stream__"):
        raise SynafaError(
            f"A {type(source).__name__} cannot be streamed; give files, a Polars frame, or anything with "
            "__arrow_c_stream__ (DuckDB relations, pyarrow tables, readers and datasets)."
        )
    if hasattr(source, "read_next_batch"):  # a reader: its batches come only once
        return _spooled(_arrow_batches(source))
    first = next(iter(_arrow_batches(source)), None)
    if first is None:
        raise SynafaError("The stream holds no rows.")
    return Source(dict(first.schema), [lambda: _arrow_batches(source)], ["the stream"], [None], f"{list(first.schema)}")


def _arrow_batches(source: Any) -> Iterator[pl.DataFrame]:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "arrow") from None
    import polars as pl

    stream = hasattr(source, "__arrow_c_stream__")
    batches = pyarrow.RecordBatchReader.from_stream(source) if stream else source.to_batches()
    for batch in batches:
        if batch.num_rows:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            yield frame


def _spooled(batches: Iterable[pl.DataFrame]) -> Source:
    """Batches that come once, written to temporary Parquet files that live as long as the source."""
    import polars as pl

    folder = tempfile.TemporaryDirectory(prefix="synafa-stream-")
    waiting: list[pl.DataFrame] = []
    paths: list[Path] = []

    def write() -> None:
        paths.append(Path(folder.name) / f"{len(paths):06}.parquet")
        pl.concat(waiting).write_parquet(paths[-1], compression="lz4")
        waiting.clear()

    with reading("The stream"):
        for batch in batches:
            waiting.append(batch)
            if sum(frame.height for frame in waiting) >= SPOOLED_ROWS:
                write()
        if waiting:
            write()
    if not paths:
        raise SynafaError("The stream holds no rows.")
    source = _of_files(paths, "missing", (), warn)
    source.owner = folder
    source.names = ["the stream"] * len(paths)
    return source


def ahead(items: Iterator[Item], n: int = 2) -> Iterator[Item]:
    """The same items, the next n of which are made in a thread meanwhile."""
    made: queue.Queue[tuple[bool, Any]] = queue.Queue(n)
    over = threading.Event()

    def put(thing: tuple[bool, Any]) -> bool:
        while not over.is_set():
            with suppress(queue.Full):
                made.put(thing, timeout=0.2)
                return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    thread = threading.Thread(target=work, name="synafa-reading", daemon=True)
    thread.start()
    try:
        while True:
            more, thing = made.get()
            if more:
                yield thing
            elif thing is None:
                return
            else:
                raise thing
    finally:
        over.set()
        if thread is not threading.current_thread():  # which may be the one to throw away what was left standing
            thread.join()


def _skip(frames: Iterable[pl.DataFrame], n: int) -> Iterator[pl.DataFrame]:
    for frame in frames:
        if n < frame.height:
            yield frame.slice(n)
        n = max(0, n - frame.height)
