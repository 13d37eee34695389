"""The state of a stream's passes as arrays and JSON values, and back: what a checkpoint holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synafa.information.counts import PairCounts
from synafa.information.exchange import labels_array
from synafa.stream.columns import Coder
from synafa.stream.counting import Counter
from synafa.table.encoder import TableEncoder

FORMAT = 2  # a checkpoint of another one is refused; 2: empty cells are counted under a code of their own


@dataclass(frozen=True)
class Position:
    """Where a stream stands: the stage and number of the pass, the part, rows done of the part and of all."""

    stage: str
    number: int
    part: int
    first: int
    rows: int


def save_state(run: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Everything that a run has learnt so far."""
    arrays: dict[str, np.ndarray] = {}
    records = []
    for j, record in enumerate(run.records):
        meta, own = record.to_state()
        records.append(meta)
        arrays |= {f"column{j}.{name}": array for name, array in own.items()}
    state: dict[str, Any] = {"place": asdict(run.place), "total": run.total, "records": records}
    state |= {"counter": None, "opened": None}
    if run.opened is not None:
        state["opened"], more = run.opened.to_state()
        arrays |= {f"opened.{name}": array for name, array in more.items()}
    elif run.counter is not None:
        more, state["counter"] = _counter_state(run.counter)
        arrays |= more
    return arrays, state


def load_state(run: Any, arrays: dict[str, np.ndarray], state: dict[str, Any]) -> Position:
    """Continue a run from `save_state`; returns where it stands."""
    for j, (record, meta) in enumerate(zip(run.records, state["records"])):
        begin = f"column{j}."
        record.from_state(meta, {n.removeprefix(begin): a for n, a in arrays.items() if n.startswith(begin)})
    run.total = state["total"]
    place = Position(**state["place"])
    if state["counter"] is not None:
        run.counter = _restored(run, arrays, state["counter"])
    if state["opened"] is None:
        run.opened = None
    else:
        own = {n.removeprefix("opened."): a for n, a in arrays.items() if n.startswith("opened.")}
        run.opened.from_state(state["opened"], own)
    return place


def _counter_state(counter: Counter) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    encoder = TableEncoder()
    encoder.columns_ = tuple(coder.column for coder in counter.coders)
    arrays = {"edges": np.stack([coder.edges for coder in counter.coders])}
    meta: dict[str, Any] = {"columns": encoder.to_meta(), "counts": counter.counts is not None, "kept": counter.n_kept}
    meta["missing"] = counter.missing
    if counter.counts is not None:
        arrays["counts"] = np.frombuffer(counter.counts.to_bytes(), np.uint8)
        codes, y = counter.first_rows()
        arrays |= {"kept_codes": codes, "kept_y": y.astype(np.int64)}
        meta |= {"classes": counter.counts.classes.tolist(), "dtype": counter.counts.classes.dtype.str}
    return arrays, meta


def _restored(run: Any, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Counter:
    columns = TableEncoder.from_meta(meta["columns"]).columns_
    coders = [Coder(column, edges) for column, edges in zip(columns, arrays["edges"])]
    counter = Counter(coders, run.n_bins, run.keep, meta["missing"])
    if meta["counts"]:
        counter.counts = PairCounts.from_bytes(arrays["counts"].tobytes())
        counter.kept, counter.n_kept = [arrays["kept_codes"]], meta["kept"]
        counter.kept_labels = [labels_array(meta["classes"], meta["dtype"])[arrays["kept_y"]]]
    return counter
