"""Damaged tables read batch by batch: an answer over all rows, or one sentence; no row is lost in silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from synafa.errors import SynafaError
from synafa.stream.passes import stream_counts
from synafa.stream.sources import open_source
from synafa.table.reading import read_table
from tests.faults import tables
from tests.faults.campaign import one_sentence


def attempt(rng: np.random.Generator, folder: Path) -> str:
    """One damaged file, by its name or by its folder, as a stream and in memory."""
    path = (tables.cells_file if rng.random() < 0.5 else tables.bytes_file)(rng, folder)
    rows = _rows_in_memory(path)
    try:
        source = open_source(
            folder if rng.random() < 0.5 else path, tell=lambda notice: one_sentence(notice.text, 20_000)
        )
        target = "y" if "y" in source.schema else list(source.schema)[-1]
        counts = stream_counts(source, target).counts
    except SynafaError as error:
        one_sentence(str(error), most=20_000)  # names of thousands of characters are repeated whole
        return "refused"
    assert rows is None or counts.n_rows == rows, f"{counts.n_rows} of {rows} rows were counted"
    return "counted"


def _rows_in_memory(path: Path) -> int | None:
    try:
        return read_table(path, tell=lambda notice: None, max_bytes=2**28).height
    except SynafaError:
        return None
