"""Tables that are read batch by batch at the command line: when that is done, and answers written as rows are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synafa.cli.common import split_names, tell
from synafa.errors import SynafaError

if TYPE_CHECKING:
    import polars as pl

    from synafa.stream.passes import Streamed
    from synafa.stream.sources import Source

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}


def memory_limit(word: str | None) -> int:
    """Bytes from `4GB`, `500MiB` or a plain number; half of what is free when nothing is said."""
    from synafa.memory import available_bytes

    if word is None:
        return (available_bytes() or 8 * 2**30) // 2
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", word.lower())
    if not found or (found[3] and not found[2]):
        raise SynafaError(f"--memory must be a size such as 4GB or 500MB, got: {word!r}.")
    power = "kmgt".index(found[2]) + 1 if found[2] else 0
    return int(float(found[1]) * (1024**power if found[3] else _UNITS[found[2]]))


def streamed_source(
    data: Path, memory: str | None, as_text: Sequence[str] = (), nearly_numeric: str = "missing", force: bool = False
) -> Source | None:
    """The table as a stream when it is several files or larger than the limit, else None: it is read as a whole."""
    from synafa.stream.files import check_file, kind_of
    from synafa.stream.sources import find_files, open_source

    limit = memory_limit(memory)
    paths = find_files(data)
    if len(paths) == 1 and not force:
        if not kind_of(paths[0]) or not paths[0].is_file():
            return None  # the reader of whole tables says what is wrong
        check_file(paths[0])
        if _size(paths[0]) <= limit:
            return None
    return open_source(paths, as_text=as_text, nearly_numeric=nearly_numeric, tell=tell)


def table_bytes(source: Source) -> float:
    """About how many bytes a table of files takes in memory."""
    return sum(_size(path) for path in source.paths)


def whole(source: Source) -> pl.DataFrame:
    """All rows of a stream that fits into memory."""
    import polars as pl

    return pl.concat([batch.frame for batch in source.batches()], how="vertical_relaxed")


def _size(path: Path) -> float:
    """About how many bytes a table takes in memory."""
    import polars as pl

    from synafa.stream.files import kind_of
    from synafa.table.panics import PanicError, unless_panic

    if kind_of(path) == "csv":
        return path.stat().st_size * (5 if path.name.lower().endswith(".gz") else 1)
    try:
        with unless_panic():
            lazy = pl.scan_parquet(path, glob=False)
            return 8 * lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
    except (pl.exceptions.PolarsError, OSError, PanicError):
        return 0  # the reader of whole tables says what is wrong


def counted(
    source: Source,
    target: str,
    bins: int,
    drop: list[str] | None,
    checkpoint: Path | None,
    scheduler: str | None,
) -> Streamed:
    """The counts of a stream, here or on a cluster, with a line of progress."""
    dropped = split_names(drop, list(source.schema))
    with progress_line() as report:
        if scheduler is not None:
            from synafa.stream.cluster import cluster_counts

            return cluster_counts(
                source, target, scheduler, n_bins=bins, drop=dropped, checkpoint=checkpoint, progress=report
            )
        from synafa.stream.passes import stream_counts

        return stream_counts(source, target, n_bins=bins, drop=dropped, checkpoint=checkpoint, progress=report)


@contextmanager
def progress_line() -> Iterator[Any]:
    """A line of progress on standard error."""
    from synafa.stream.progress import Line

    line = Line()
    try:
        yield line
    finally:
        line.close()


def acquire_stream(
    source: Source,
    names: Sequence[str],
    answer: Callable[[Any, str], tuple[Any, pl.DataFrame]],
    output: Path,
    suffix: str,
) -> dict[str, Any]:
    """Answer batch after batch and write as they come; returns the sums for the summary."""
    import time

    from synafa.files import atomic_path
    from synafa.stream.progress import Stage

    missing = [name for name in names if name not in source.schema]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise SynafaError(f"{source.names[0]} lacks the column {missing[0]!r}{more}, which the model was fitted on.")
    sums: dict[str, Any] = {"rows": 0, "measurements": 0, "cost": 0.0, "sets": set()}

    def answers() -> Iterator[tuple[Any, Any, int]]:
        with progress_line() as report:
            began, total = time.monotonic(), source.n_rows
            for batch in source.batches(names):
                run, steps = answer(batch.frame, batch.where)
                yield run, steps, sums["rows"]
                sums["rows"] += len(run.cost)
                sums["measurements"] += int((run.order >= 0).sum())
                sums["cost"] += float(run.cost.sum())
                sums["sets"].update({hash(row.tobytes()) for row in run.mask})
                share = sums["rows"] / total if total else None
                report(Stage("answering", sums["rows"], total, share, time.monotonic() - began))

    with atomic_path(output) as temporary:
        _WRITERS[suffix](answers(), temporary, names)
    return sums


def _write_csv(answers: Iterator[tuple[Any, Any, int]], path: Path, names: Sequence[str]) -> None:
    with path.open("wb") as file:
        for number, (_, steps, before) in enumerate(answers):
            steps.with_columns(steps["row"] + before).write_csv(file, include_header=number == 0)


def _write_parquet(answers: Iterator[tuple[Any, Any, int]], path: Path, names: Sequence[str]) -> None:
    """Polars asks for one table of answers after the other while it writes."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = {"row": pl.Int64, "step": pl.Int64, "feature": pl.String, "branch": pl.String, "cost": pl.Float64}
    problem: list[BaseException] = []

    def tables(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[pl.DataFrame]:
        try:
            for _, steps, before in answers:
                yield steps.with_columns(steps["row"] + before)
        except BaseException as error:  # Polars would wrap it, and its sentence would be lost
            problem.append(error)

    register_io_source(tables, schema=schema).sink_parquet(path)
    if problem:
        raise problem[0]


def _write_json(answers: Iterator[tuple[Any, Any, int]], path: Path, names: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        head = {"format": "synafa-run", "version": 1, "feature_names": list(names)}
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "rows": [')
        first = True
        for run, _, before in answers:
            for i, (order, cost) in enumerate(zip(run.order, run.cost)):
                row = {"row": before + i + 1, "cost": float(cost), "order": [names[j] for j in order if j >= 0]}
                file.write(("" if first else ",") + "\n" + json.dumps(row, ensure_ascii=False))
                first = False
        file.write("\n]}\n")


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
