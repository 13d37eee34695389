"""Named arrays and JSON values as one file: the safetensors format with a kind, a version and a checksum. No pickle.

The file starts with the length of its header; nothing that the header claims is believed before it has been compared
with the size of the file, and the checksum over names, shapes, bytes and metadata tells a damaged file from a good one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import atomic_path

FORMAT = "synafa-model"
VERSION = 1
_MAX_HEADER = 100_000_000
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}


def write_file(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    *,
    own: bool = False,
) -> None:
    """Write arrays and JSON-serialisable metadata atomically; `kind` says what they are, e.g. `"policy"`.

    `own` as in `atomic_path`: in a cache, a folder in the way is set aside.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in plain.items():
        if array.dtype.newbyteorder("<") not in _DTYPES.values():
            raise SynafaError(
                f"The array {name!r} of type {array.dtype} cannot be stored; convert it to numbers first."
            )
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SynafaError(
            f"A name or label holds a character that has no UTF-8 form: {error.object[error.start]!r}."
        ) from error
    header = {"format": FORMAT, "version": str(VERSION), "kind": kind, "meta": text}
    header["checksum"] = _checksum(kind, text, plain)
    data = _packed(plain, header)
    try:
        with atomic_path(path, own=own) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise SynafaError(f"Cannot write {os.fspath(path)!r}: {error.strerror or error}.") from error


def read_file(path: str | os.PathLike[str], kind: str | None = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and metadata of a file written by `write_file`; any other file is refused in one sentence."""
    stored_kind, arrays, meta = read_any(path)
    if kind is not None and stored_kind != kind:
        raise SynafaError(f"{os.fspath(path)!r} holds a {stored_kind}, but a {kind} is needed here.")
    return arrays, meta


def read_any(path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray], dict[str, Any]]:
    """As `read_file`, with the kind in front."""
    name = repr(os.fspath(path))
    data = _read_bytes(Path(path), name)
    header, start = _header(data, name)
    found = header.pop("__metadata__", None)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SynafaError(f"{name} is not a synafa file.")
    _check_version(found.get("version"), name)
    _check_places(header, len(data) - start, name)
    arrays = {key: _array(data, start, entry, name) for key, entry in header.items()}
    text, stored_kind = found.get("meta"), found.get("kind")
    if not isinstance(text, str) or not isinstance(stored_kind, str):
        raise _damaged(name)
    if found.get("checksum") != _checksum(stored_kind, text, arrays):
        raise _damaged(name)
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(name) from error
    if not isinstance(meta, dict):
        raise _damaged(name)
    return stored_kind, arrays, meta


def _packed(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a safetensors file; the library itself writes metadata in an order that changes from run to run."""
    names = {dtype: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    pieces, begin = [], 0
    for key in sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key)):  # keeps every array aligned
        little = arrays[key].astype(arrays[key].dtype.newbyteorder("<"))
        pieces.append(little.tobytes())
        end = begin + len(pieces[-1])
        header[key] = {"dtype": names[little.dtype], "shape": list(little.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def _read_bytes(path: Path, name: str) -> bytes:
    if path.is_dir():
        raise SynafaError(f"{name} is a folder; give a synafa file.")
    if path.is_char_device() or path.is_block_device():  # one such as /dev/zero has no end
        raise SynafaError(f"{name} is a device; give a synafa file.")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise SynafaError(f"There is no file {name}.") from error
    except OSError as error:
        raise SynafaError(f"Cannot read {name}: {error.strerror or error}.") from error


def _header(data: bytes, name: str) -> tuple[dict[str, Any], int]:
    """The JSON header, and where the arrays start."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not data[8:9] == b"{":
        raise SynafaError(f"{name} is not a synafa file.")
    if length > min(len(data) - 8, _MAX_HEADER):
        raise SynafaError(f"{name} is cut off or is not a synafa file: its header is longer than the file.")
    try:
        header = json.loads(data[8 : 8 + length].decode("utf-8"))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise SynafaError(f"{name} is damaged or is not a synafa file: its header is not readable.") from error
    if not isinstance(header, dict):
        raise SynafaError(f"{name} is not a synafa file.")
    return header, 8 + length


def _check_version(version: Any, name: str) -> None:
    if not isinstance(version, str) or not version.isdecimal() or len(version) > 9:
        raise _damaged(name)
    if int(version) > VERSION:
        raise SynafaError(
            f"{name} was written by a newer synafa (file version {version}, this one reads {VERSION}); upgrade synafa."
        )
    if int(version) < 1:
        raise _damaged(name)


def _check_places(header: Mapping[str, Any], size: int, name: str) -> None:
    """Refuse arrays that share bytes: a small file could otherwise claim any amount of memory."""
    try:
        places = sorted(tuple(entry["data_offsets"]) for entry in header.values())
        if any(len(place) != 2 or not all(type(edge) is int for edge in place) for place in places):
            raise TypeError(places)
    except (KeyError, TypeError) as error:
        raise _damaged(name) from error
    reached = 0
    for begin, end in places:
        if begin != reached and begin < end:
            raise SynafaError(f"{name} is damaged: its arrays overlap or leave gaps; fit and save the model again.")
        reached = max(reached, end)
    if reached > size:
        raise SynafaError(f"{name} is cut off or damaged: its header claims more data than the file holds.")


def _array(data: bytes, start: int, entry: Any, name: str) -> np.ndarray:
    """One array, after its claimed type, shape and place have been compared with the file."""
    try:
        dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        numbers = [begin, end, *shape]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(name) from error
    if not all(type(number) is int and number >= 0 for number in numbers) or len(shape) > 8:
        raise _damaged(name)
    if end > len(data) - start or max(shape, default=0) > len(data):
        raise SynafaError(f"{name} is cut off or damaged: its header claims more data than the file holds.")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise _damaged(name)
    return np.ndarray(tuple(shape), dtype, data, start + begin).copy()


def _checksum(kind: str, meta: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps([kind, meta]).encode())
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(json.dumps([key, array.dtype.newbyteorder("<").str, array.shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _damaged(name: str) -> SynafaError:
    return SynafaError(f"{name} is damaged; make and save it again.")
