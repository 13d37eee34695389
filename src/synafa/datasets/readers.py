"""The study's files into raw tables: one short function a format, which also repairs the source's defects."""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synafa.datasets.preprocess import RawTable, encode_columns
from synafa.errors import SynafaError

if TYPE_CHECKING:
    import polars as pl

ACTG175_FEATURES = (
    *("time", "trt", "age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30", "zprior", "preanti"),
    *("race", "gender", "str2", "strat", "symptom", "treat", "offtrt", "cd40", "cd420", "cd80", "cd820"),
)
LOOP_DIGITS = (0, 6, 8, 9)
PIXEL_NAMES = tuple(f"r{row}c{column}" for row in range(28) for column in range(28))


def read_ckd_arff(paths: Sequence[Path]) -> RawTable:
    """UCI's chronic kidney disease file: 24 features, `?` for missing, three rows with one comma too many."""
    import polars as pl

    lines = paths[0].read_text(encoding="latin-1").splitlines()
    names = [line.split()[1].strip("'\"") for line in lines if line.lower().startswith("@attribute")]
    start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    rows = [_repair_row(line.split(","), len(names)) for line in lines[start:] if line.strip()]
    return _ckd_table(pl.DataFrame(rows, schema={name: pl.String for name in names}, orient="row"), target=names[-1])


def _repair_row(fields: list[str], width: int) -> list[str]:
    """Drop the empty field of a row with one too many: a stray comma at its end or between two answers."""
    if len(fields) == width + 1 and "" in fields:
        fields = fields.copy()
        del fields[len(fields) - 1 - fields[::-1].index("")]
    if len(fields) != width:
        raise SynafaError(
            f"A row of the kidney disease file has {len(fields)} fields instead of {width}: {','.join(fields)!r}."
        )
    return fields


def read_ckd_csv(paths: Sequence[Path]) -> RawTable:
    """The same table as published on Kaggle: an id column more, wbcc, rbcc and class under other names."""
    frame = _read_csv(paths[0]).drop("id").rename({"wc": "wbcc", "rc": "rbcc", "classification": "class"})
    return _ckd_table(frame, target="class")


def _ckd_table(frame: pl.DataFrame, target: str) -> RawTable:
    features = frame.drop(target)
    y = (frame[target].str.strip_chars() == "ckd").to_numpy()
    return RawTable(encode_columns(features), y.astype(np.int64), tuple(features.columns))


def read_actg175_uci(paths: Sequence[Path]) -> RawTable:
    """ACTG 175 with UCI's column names."""
    return _actg175_table(_read_csv(paths[0]))


def read_actg175_r(paths: Sequence[Path]) -> RawTable:
    """ACTG 175 as the R package speff2trial exports it: row names without a header, three columns named otherwise."""
    with paths[0].open(encoding="utf-8") as file:
        header = [name.strip('"') for name in file.readline().strip().split(",")]
    frame = _read_csv(paths[0], has_header=False, skip_rows=1, new_columns=["row", *header])
    return _actg175_table(frame.rename({"cens": "cid", "days": "time", "arms": "trt"}))


def _actg175_table(frame: pl.DataFrame) -> RawTable:
    y = encode_columns(frame.select("cid"))[:, 0]
    return RawTable(encode_columns(frame.select(ACTG175_FEATURES)), y.astype(np.int64), ACTG175_FEATURES)


def read_bank(paths: Sequence[Path], missing_category: str | None = None) -> RawTable:
    """UCI's bank marketing archive: `unknown` is missing, or a category of its own under the given name."""
    with zipfile.ZipFile(paths[0]) as archive:
        frame = _read_csv(io.BytesIO(archive.read("bank-full.csv")), separator=";")
    features = frame.drop("y")
    values = encode_columns(features, missing_category, missing=("unknown",))
    return RawTable(values, (frame["y"] == "yes").to_numpy().astype(np.int64), tuple(features.columns))


def read_bank_as_published(paths: Sequence[Path]) -> RawTable:
    """The study's encoding, in which `unknown` is ranked as the string `nan` (failure < nan < other < success)."""
    return read_bank(paths, missing_category="nan")


def read_physionet(paths: Sequence[Path]) -> RawTable:
    """PhysioNet 2012 as one row a stay: 41 averaged variables and the outcome."""
    frame = _read_csv(paths[0])
    features = frame.drop("Outcome")
    y = encode_columns(frame.select("Outcome"))[:, 0]
    return RawTable(encode_columns(features), y.astype(np.int64), tuple(features.columns))


def read_miniboone(paths: Sequence[Path]) -> RawTable:
    """MiniBooNE's text: two counts (signal, background), then one row of 50 numbers an event, signal first.

    Events whose reconstruction failed hold -999 in every column; they are kept as they are.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # older NumPy only warns, and cuts the array there
            numbers = np.fromfile(paths[0], dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise SynafaError(f"{paths[0].name} holds text that is no number; it is altered, get it again.") from error
    counts = numbers[:2]
    if len(counts) < 2 or (counts < 0).any() or (counts % 1 != 0).any():
        raise SynafaError(f"{paths[0].name} must begin with the numbers of signal and background events.")
    signal, background = (int(count) for count in counts)
    if len(numbers) != 2 + 50 * (signal + background):
        raise SynafaError(
            f"{paths[0].name} announces {signal} + {background} events of 50 numbers but holds {len(numbers) - 2}"
            " numbers; it is cut short or altered, get it again."
        )
    y = np.repeat(np.array([1, 0]), [signal, background])
    return RawTable(numbers[2:].reshape(-1, 50), y, tuple(f"PID{i + 1}" for i in range(50)))


def read_mnist_loop(paths: Sequence[Path]) -> RawTable:
    """MNIST's 60,000 training images as pixels 0..255; class 1 is a digit with a closed loop (0, 6, 8, 9)."""
    pixels, y = mnist_loop_pixels(paths)
    return RawTable(pixels.astype(np.float64), y, PIXEL_NAMES)


def mnist_loop_pixels(paths: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """Pixels uint8 (n, 784) and classes of the loop task."""
    images, labels = (_read_idx(path) for path in paths)
    return images.reshape(len(images), -1), np.isin(labels, LOOP_DIGITS).astype(np.int64)


def _read_idx(path: Path) -> np.ndarray:
    """A gzipped IDX file of bytes: magic 0, 0, 8, rank, then the shape as big-endian integers."""
    content = gzip.decompress(path.read_bytes())
    rank = content[3]
    shape = np.frombuffer(content, ">i4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _read_csv(source: Path | io.BytesIO, separator: str = ",", has_header: bool = True, **more: object) -> pl.DataFrame:
    """Read every column as text; what is a number is decided later, by all its cells."""
    import polars as pl

    return pl.read_csv(source, separator=separator, has_header=has_header, infer_schema=False, **more)  # type: ignore[arg-type]
