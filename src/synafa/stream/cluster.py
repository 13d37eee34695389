"""The same counts on a Dask cluster: parts are read where the workers are, by the same kernels, and merged in a tree.

Parts go out in waves. A wave's results are merged pairwise on the workers and join what this process has; after each
wave a checkpoint can be written. A worker that dies takes nothing with it, Dask runs its parts elsewhere; when the
scheduler is lost, the count ends in one sentence and goes on from the checkpoint. Sums of integers do not depend on
partitions, order, workers or retries. Wide tables are counted in tiles of columns, so that no worker holds all pairs.
"""

from __future__ import annotations

import os
import time
from asyncio import CancelledError as AsyncCancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import MissingExtraError, SynafaError
from synafa.files import content_hash
from synafa.information.counts import PairCounts, check_memory
from synafa.stream import worker
from synafa.stream.checkpoint import Checkpoint
from synafa.stream.columns import Coder, column_of
from synafa.stream.counting import KEPT_ROWS, first_rows
from synafa.stream.labels import Labels
from synafa.stream.passes import SAMPLE, Streamed, feature_names
from synafa.stream.progress import Report, Stage
from synafa.stream.sources import Source, open_source
from synafa.stream.state import FORMAT
from synafa.table.encoder import TableEncoder

if TYPE_CHECKING:
    from distributed import Client, Future

PART_ROWS = 1 << 20  # rows of a Parquet file that make a part
TILE_PLANES = 2048  # planes of a tile's side
_LOST_SECONDS = 15.0
_IDLE_SECONDS = 60.0  # without any worker
_TRIES = 5  # of a wave whose data were lost with a worker
_MOST_PASSES = 9


class _LostError(Exception):
    """The scheduler does not answer any more, or what it had is gone."""


class _IdleError(_LostError):
    """There has been no worker for long."""


_GONE = (_LostError, OSError, TimeoutError, CancelledError, AsyncCancelledError)


def cluster_counts(
    source: Any,
    target: str,
    client: Client | str,
    *,
    n_bins: int = 2,
    drop: Sequence[str] = (),
    parts: int | None = None,
    wave: int | None = None,
    tile: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
) -> Streamed:
    """Count all pairs of files on a Dask cluster; the result is that of `stream_counts` to the last bit.

    Parameters
    ----------
    source : files, a folder or a pattern, under paths that every worker can read
    target : the column that holds the class
    client : a connected `distributed.Client`, or the address of a scheduler, `"tcp://host:8786"`
    n_bins, drop, progress : as for `stream_counts`
    parts : into how many parts to cut Parquet files, by default one for a million rows; a CSV file is one part
    wave : parts that are out at the same time, by default four for each thread of the cluster
    tile : columns of a tile's side, by default as many as keep a tile below some hundred megabytes
    checkpoint : a file from which an interrupted count goes on

    Raises
    ------
    SynafaError
        When a part cannot be used (its name and the worker are said), a worker lacks the package, or the scheduler is
        lost.
    """
    table = open_source(source, as_text=(target,))
    if not table.paths:
        raise SynafaError("A cluster counts files; give paths that every worker can read.")
    with connected(client) as (joined, address):
        run = _ClusterRun(table, target, joined, address, n_bins, tuple(drop), parts, wave, tile, checkpoint, progress)
        return run.streamed()


@contextmanager
def connected(client: Client | str) -> Iterator[tuple[Client, str]]:
    """A client that is there already, or one of the scheduler at an address; all workers have this package."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MissingExtraError("distributed", "dask") from None
    if not isinstance(client, str):
        _check_workers(client)
        yield client, str(client.scheduler.address if client.scheduler else "the scheduler")
        return
    try:
        joined = Client(client, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise SynafaError(f"No Dask scheduler answers at {client!r} ({error}); check the address.") from None
    try:
        _check_workers(joined)
        yield joined, client
    finally:
        joined.close(timeout=2)


def _check_workers(client: Client) -> None:
    """Every worker has the same version of this package."""
    from synafa import __version__

    found = client.run(lambda: __import__("synafa").__version__, on_error="return")
    if not found:
        raise SynafaError("The Dask cluster has no worker; start one and run again.")
    for address, version in found.items():
        if isinstance(version, ImportError):
            raise SynafaError(f"The worker at {address} has no synafa; install it there and start the worker again.")
        if version != __version__:
            raise SynafaError(f"The worker at {address} has synafa {version}, not {__version__}; install the same.")


class _ClusterRun:
    """One count on a cluster, wave by wave."""

    def __init__(
        self,
        table: Source,
        target: str,
        client: Client,
        address: str,
        n_bins: int,
        drop: tuple[str, ...],
        parts: int | None,
        wave: int | None,
        tile: int | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: Report | None,
    ) -> None:
        self.table, self.client, self.address, self.n_bins, self.progress = table, client, address, n_bins, progress
        self.names = feature_names(table.schema, target, drop)
        self.labels = Labels(target, table.schema)
        check_memory(len(self.names), n_bins, 2)  # at least; before the workers begin
        sample = table.sample(self.names, SAMPLE)
        self.records = [column_of(n, table.schema[n], n_bins, len(self.names), sample[n]) for n in self.names]
        self.job = worker.Job([str(p) for p in table.paths], self.names, target, n_bins)
        self.parts = cut_parts(table, parts)
        if not self.parts:
            raise SynafaError("The table has no rows; at least 1 sample is required.")
        self.wave = wave or 4 * max(1, sum(client.nthreads().values()))
        self.tile = max(1, tile or TILE_PLANES // (n_bins - 1))
        self.file = Checkpoint(
            checkpoint, content_hash([table.identity, self.names, target, n_bins, self.parts, FORMAT]), 0.0
        )
        self.began = time.monotonic()

    def streamed(self) -> Streamed:
        saved = self.file.read()
        stage, done = "learn", 0
        arrays: dict[str, np.ndarray] = {}
        meta: dict[str, Any] = {}
        if saved is not None:
            arrays, meta = saved
            stage, done = meta["stage"], meta["done"]
        passes = meta.get("passes", 1)
        if stage == "learn":
            merged: bytes | None = arrays["state"].tobytes() if "state" in arrays else None
            brackets: bytes | None = arrays["brackets"].tobytes() if "brackets" in arrays else None
            while True:
                if brackets is None:
                    for record in self.records:
                        for rank in getattr(record, "ranks", ()):
                            rank.closing = False
                    brackets = worker.pack_records(self.records, first=passes == 1)
                merged = self._waves("looking for edges", worker.learn, brackets, merged, done, passes)
                records, labels = worker.unpack_records(merged, self.job, self.table)
                coders = [(column, edges) for column, edges in (record.finished() for record in records)]
                if all(edges is not None for _, edges in coders):
                    break
                passes, done, merged, brackets = passes + 1, 0, None, None
                self.records = records
                if passes > _MOST_PASSES:
                    raise AssertionError("edges were not found in nine passes")
            if sum(labels.values()) == 0:
                raise SynafaError("The table has no rows; at least 1 sample is required.")
            passes, done = passes + 1, 0
            found = [Coder(column, edges) for column, edges in coders if edges is not None]
            missing = any(record.missing for record in records)
            check_memory(len(self.names), self.n_bins, len(labels), missing)
            coded = worker.pack_coders(found, missing)
            arrays = {}
        else:
            coded = arrays["coders"].tobytes()
        return self._count(coded, arrays, done, passes)

    def _count(self, coded: bytes, arrays: dict[str, np.ndarray], done: int, passes: int) -> Streamed:
        tiles = list(_tiles(len(self.names), self.tile))
        state = arrays["state"].tobytes() if "state" in arrays else None
        merged = self._waves("counting", worker.count, coded, state, done, passes, tiles)
        counts = worker.assemble(merged, len(self.names), self.n_bins)
        if len(counts.classes) < 2:
            raise SynafaError(
                f"All rows are of one class ({str(counts.classes[0])!r}); there is nothing to tell apart."
            )
        coders, _ = worker.unpack_coders(coded)
        encoder = TableEncoder()
        encoder.columns_ = tuple(coder.column for coder in coders)
        edges = np.stack([coder.edges for coder in coders])
        self.file.remove()
        codes, y = first_rows(self.table, self.names, self.labels, coders, counts.classes, KEPT_ROWS)
        return Streamed(encoder, edges, counts, codes, y, passes, 0.0)

    def _waves(
        self,
        name: str,
        work: Callable[..., bytes],
        shared: bytes,
        merged: bytes | None,
        done: int,
        passes: int,
        tiles: Sequence[Any] = ((),),
    ) -> bytes:
        """All parts from number `done` on; returns everything merged."""
        rows = sum(part[2] or 0 for part in self.parts[:done])
        total = self.table.n_rows
        while done < len(self.parts):
            chosen = self.parts[done : done + self.wave]
            new = self._surely(work, shared, chosen, tiles, passes, done)
            merged = new if merged is None else worker.merge(merged, new)
            done += len(chosen)
            rows += sum(part[2] or 0 for part in chosen)
            stage = "learn" if work is worker.learn else "count"
            key = "brackets" if stage == "learn" else "coders"
            arrays = {"state": np.frombuffer(merged, np.uint8), key: np.frombuffer(shared, np.uint8)}
            self.file.write(arrays, {"stage": stage, "done": done, "passes": passes})
            if self.progress is not None:
                seconds = time.monotonic() - self.began
                share = done / len(self.parts)
                self.progress(Stage(f"pass {passes}, {name} on the cluster", rows, total, share, seconds))
        assert merged is not None
        return merged

    def _surely(
        self,
        work: Callable[..., bytes],
        shared: bytes,
        chosen: Sequence[Any],
        tiles: Sequence[Any],
        passes: int,
        done: int,
    ) -> bytes:
        """A wave, once more where a worker died with what all parts need; a sentence when nobody is left."""
        for again in range(_TRIES, -1, -1):
            try:
                return self._one_wave(work, shared, chosen, tiles, f"{passes}-{done}")
            except _GONE as error:
                gone: BaseException = error
                if again and self.client.status == "running" and not isinstance(error, _IdleError):
                    try:
                        self._wait_for_worker()
                        _check_workers(self.client)
                        continue
                    except _GONE as another:
                        gone = another
                what = "lost its workers" if isinstance(gone, _IdleError) else "was lost"
                kept = f"; run again to go on from {str(self.file.path)!r}" if self.file.path else ""
                raise SynafaError(
                    f"The Dask scheduler at {self.address} {what} after {done} of {len(self.parts)} parts{kept}."
                ) from error
        raise AssertionError

    def _wait_for_worker(self) -> None:
        """Return as soon as there is a worker."""
        began = time.monotonic()
        while not self.client.nthreads():
            if time.monotonic() - began > _IDLE_SECONDS:
                raise _IdleError
            time.sleep(0.2)

    def _one_wave(
        self, work: Callable[..., bytes], shared: bytes, chosen: Sequence[Any], tiles: Sequence[Any], key: str
    ) -> bytes:
        """Some parts, every tile of each; the parts of a tile are merged in a tree on the workers."""
        given = self.client.scatter(shared, broadcast=False, hash=False)
        totals: list[Future] = []
        held: list[Future] = []  # all of them, to the end: what nobody holds is forgotten, and its error with it
        for t, tile in enumerate(tiles):
            futures = [
                self.client.submit(work, self.job, part, tile, given, key=f"synafa-{key}-{i}-{t}-{time.monotonic_ns()}")
                for i, part in enumerate(chosen)
            ]
            held += futures
            while len(futures) > 1:
                pairs = [futures[i : i + 2] for i in range(0, len(futures), 2)]
                futures = [
                    self.client.submit(worker.merge, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs
                ]
                held += futures
            totals += futures
        return worker.together([self._result(future) for future in totals])  # here: no worker holds all pairs

    def _result(self, future: Future) -> bytes:
        """What a future holds; an error in words, and one of its own kind when nobody answers any more."""
        from distributed import wait

        away = idle = 0.0
        while True:
            try:
                wait([future], timeout=0.5)
                break
            except TimeoutError:
                running = self.client.status == "running"
                away = 0.0 if running else away + 0.5
                if away >= _LOST_SECONDS or self.client.status == "closed":
                    raise _LostError from None
                idle = idle + 0.5 if running and not self.client.nthreads() else 0.0
                if idle >= _IDLE_SECONDS:
                    raise _IdleError from None
        if future.status == "finished":
            found = future.result(timeout=60)
            assert isinstance(found, bytes)
            return found
        if future.status in ("cancelled", "lost"):
            raise _LostError
        problem = future.exception(timeout=60)
        if isinstance(problem, SynafaError):
            raise problem
        if isinstance(problem, ImportError) or type(problem).__name__ == "KilledWorker":
            _check_workers(self.client)  # one that came later may lack the package
        text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise SynafaError(f"The Dask cluster gave up a part: {text}.") from problem


def cut_parts(table: Source, parts: int | None) -> list[tuple[int, int, int | None]]:
    """Parts as (number of the file, first row, rows); files of unknown length are one part each."""
    total = table.n_rows
    size = PART_ROWS if parts is None or not total else max(1, -(-total // parts))
    cut: list[tuple[int, int, int | None]] = []
    for number, rows in enumerate(table.rows):
        if rows is None:
            cut.append((number, 0, None))
        else:
            cut += [(number, first, min(size, rows - first)) for first in range(0, rows, size)]
    return cut


def _tiles(n_features: int, side: int) -> Iterator[tuple[int, int, int, int]]:
    """Blocks of columns (from, to, from, to), each pair of blocks once."""
    starts = range(0, n_features, side)
    for a in starts:
        for b in starts:
            if a <= b:
                yield a, min(a + side, n_features), b, min(b + side, n_features)


def from_dask(frame: Any, target: str, client: Client | str, **settings: Any) -> PairCounts:
    """Counts of a Dask DataFrame or of files; see `cluster_counts`. A frame's partitions are written where they lie."""
    if not hasattr(frame, "to_delayed"):
        return cluster_counts(frame, target, client, **settings).counts
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="synafa-dask-"))
    try:
        with connected(client) as (joined, _):
            delayed = frame.to_delayed()
            written = [
                joined.submit(worker.write_part, d, str(folder), i) for i, d in enumerate(joined.compute(delayed))
            ]
            paths = sorted(joined.gather(written))
            return cluster_counts(paths, target, joined, **settings).counts
    finally:
        for path in folder.glob("*"):
            path.unlink()
        folder.rmdir()
