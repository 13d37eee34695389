"""Model files: damaged bytes, and well-signed files whose contents are nonsense.

A model that is not refused must work: it recommends, runs over rows and draws its graph, with finite numbers.
"""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from synafa import SynAFA
from synafa.arrays import write_file
from synafa.errors import SynafaError
from synafa.model.storage import load_bedside, load_model, load_rule
from synafa.web.describe import model_dict
from tests.faults.campaign import one_sentence

Parts = tuple[dict[str, np.ndarray], dict[str, Any]]
NONSENSE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 17, 10**400, -(10**400), 2**63, 1.5, -0.0, 1e308, -1e308, math.inf, -math.inf,
    math.nan, "", "x", "strict", "\0", "\ud800", "a" * 5000, [], {}, [None], [[]], ["a", "a"], {"a": 1}, [1, "1"],
    [10**400, 1], [math.nan, 1], [True, 1], ["p", "p\0"],
)  # fmt: skip
NUMBERS = (math.nan, math.inf, -math.inf, -1.0, -1e-12, 0.0, 65.0, 1e308, -1e308, 5e-324)


@cache
def models() -> tuple[Parts, ...]:
    """A policy with text, known and unavailable features and two bins, and one with four bins and three classes."""
    rng = np.random.default_rng(0)
    n = 120
    table = pl.DataFrame(
        {"a": rng.normal(size=n), "b": rng.integers(0, 3, n), "sex": rng.choice(["f", "m", "x"], n), "flat": [1.0] * n}
    )
    y = (table["a"].to_numpy() > 0).astype(int) + (table["b"].to_numpy() > 1)
    first = SynAFA(budget=3, costs={"a": 2}).fit(table, y > 0, known=["sex"], unavailable=["flat"])
    second = SynAFA(budget=3, n_bins=4).fit(table, np.array(["low", "mid", "high"])[y])
    return first.to_arrays(), second.to_arrays()


def attempt_contents(rng: np.random.Generator, folder: Path) -> str:
    """A re-signed model with one to three wrong parts."""
    arrays, meta = copy.deepcopy(models()[rng.integers(len(models()))])
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:
            mutate_array(rng, arrays)
        else:
            mutate_meta(rng, meta)
    path = folder / "model.synafa"
    try:
        write_file(path, "policy", arrays, meta)
    except SynafaError as error:
        one_sentence(str(error))
        return "not written"
    return judge(path, rng)


def mutate_array(rng: np.random.Generator, arrays: dict[str, np.ndarray]) -> None:
    """Another type, another shape, a value that must not be there, or no array at all."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    change = rng.integers(9)
    if change == 0:
        del arrays[name]
    elif change == 1:
        arrays[name] = array[:0]
    elif change == 2:
        arrays[name] = array[..., :-1].copy()
    elif change == 3:
        arrays[name] = np.concatenate([array, array])
    elif change == 4:
        arrays[name] = array.reshape(-1)
    elif change == 5:
        kinds = ("f4", "f8", "i1", "i4", "i8", "u1", "u2", "u8", "?")
        with np.errstate(all="ignore"):
            arrays[name] = np.nan_to_num(array.astype("f8")).astype(kinds[rng.integers(len(kinds))])
    elif change == 6 and array.size:
        changed = array.astype("f8").copy()
        changed.flat[rng.integers(changed.size)] = NUMBERS[rng.integers(len(NUMBERS))]
        with np.errstate(all="ignore"):
            arrays[name] = changed.astype(array.dtype)
    elif change == 7 and array.size:
        with np.errstate(all="ignore"):
            arrays[name] = np.full(array.shape, NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype)
    else:
        arrays[f"{name}2"] = array


def mutate_meta(rng: np.random.Generator, meta: dict[str, Any]) -> None:
    """Nonsense in place of a value, at the top or anywhere below."""
    holder: Any = meta
    while True:
        keys = sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.3:
            break
        holder = holder[key]
    change = rng.integers(4)
    if change == 0:
        del holder[key]
    elif change == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = copy.deepcopy(NONSENSE[rng.integers(len(NONSENSE))])


def attempt_bytes(rng: np.random.Generator, folder: Path) -> str:
    """A model file with damaged bytes, or with a header that lies."""
    path = folder / "model.synafa"
    write_file(path, "policy", *models()[rng.integers(len(models()))])
    data = bytearray(path.read_bytes())
    change = rng.integers(7)
    if change == 6:  # nothing: a whole file must be used
        assert judge(path, rng) == "used"
        return "used"
    if change == 0:
        del data[rng.integers(len(data)) :]
    elif change == 1:
        for _ in range(rng.integers(1, 20)):
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    elif change == 2:
        at = rng.integers(len(data))
        data[at:at] = rng.bytes(rng.integers(1, 64))
    elif change == 3:
        data[:8] = int(rng.integers(0, 2**62)).to_bytes(8, "little")
    elif change == 4:
        data = bytearray(rng.bytes(rng.integers(0, 4096)))
    else:
        data = lying_header(rng, bytes(data))
    path.write_bytes(bytes(data))
    return judge(path, rng)


def lying_header(rng: np.random.Generator, data: bytes) -> bytearray:
    """The header with one array's claim about itself replaced."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    entry = header[str(rng.choice(sorted(set(header) - {"__metadata__"})))]
    claims: tuple[Any, ...] = (
        [0, len(data) - 8 - length],
        [0, 8],
        [8, 0],
        [-8, 0],
        [0, 2**60],
        None,
        "x",
        [],
        [0.0, 8.0],
    )
    field = ("data_offsets", "shape", "dtype")[rng.integers(3)]
    others: tuple[Any, ...] = ("F64", "U8", "BF16", [2**40], [2**62, 4], [0, 2**70], [-1], [1] * 50, None, {})
    entry[field] = claims[rng.integers(len(claims))] if field == "data_offsets" else others[rng.integers(len(others))]
    text = json.dumps(header).encode()
    return bytearray(len(text).to_bytes(8, "little") + text + data[8 + length :])


def judge(path: Path, rng: np.random.Generator) -> str:
    """`refused` in one sentence by both readers, or `used` by everything a model is for."""
    try:
        policy = load_model(path)
    except SynafaError as error:
        one_sentence(str(error))
        try:
            load_rule(path)  # needs less of the file: it may accept what load_model does not
        except SynafaError as second:
            one_sentence(str(second))
        return "refused"
    rule = load_rule(path)
    d = rule.n_features
    json.dumps(model_dict(load_bedside(path)), allow_nan=False).encode()
    found = rule.next_feature()
    assert math.isfinite(found.score)
    assert math.isfinite(found.information)
    found.text.encode()
    rows = np.where(rng.random((20, d)) < 0.2, np.nan, rng.integers(0, 2, (20, d)).astype(float))
    run = policy.acquire(pl.DataFrame({c.name: _cells(c, rows[:, j]) for j, c in enumerate(rule.encoder.columns_)}))
    assert np.isfinite(run.cost).all()
    assert (run.order < d).all()
    policy.decision_graph(max_depth=3).to_html().encode()
    return "used"


def _cells(column: Any, values: np.ndarray) -> list[Any]:
    if column.kind == "number":
        return [None if math.isnan(v) else float(v) for v in values]
    return [None if math.isnan(v) or int(v) >= len(column.categories) else column.categories[int(v)] for v in values]
