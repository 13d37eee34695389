"""Counts as bytes and back, for checkpoints and for counts that are taken elsewhere and merged here. No pickle.

The bytes are a safetensors file: the upper triangle of the joint counts in the narrowest integers that hold them, and
one JSON text with the classes and a checksum.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.information.counts import PairCounts

_KEY = "synafa"


def pack_arrays(kind: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> bytes:
    """Named arrays and JSON values as bytes that `unpack_arrays` checks; the same input gives the same bytes."""
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    text = json.dumps([kind, _digest(kind, plain, meta), meta], ensure_ascii=False, sort_keys=True)
    return save(plain, metadata={_KEY: text})


def unpack_arrays(kind: str, data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and values of `pack_arrays`; bytes that are cut short or changed are refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        length = int.from_bytes(data[:8], "little")
        stored, digest, meta = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_KEY])
        arrays = load(data)
        whole = stored == kind and digest == _digest(kind, arrays, meta)
    except (SafetensorError, ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise SynafaError(f"These bytes are not {kind}, or they are damaged; count again.")
    return arrays, meta


def counts_to_bytes(counts: PairCounts) -> bytes:
    """Everything that a PairCounts holds."""
    rows, columns = np.triu_indices(counts.joint.shape[1], k=1)
    triangle = narrow(counts.joint[:, rows, columns])
    arrays = {"class_counts": counts.class_counts, "plane_counts": counts.plane_counts, "triangle": triangle}
    meta = {"n_features": counts.n_features, "n_bins": counts.n_bins, "classes": counts.classes.tolist()}
    meta |= {"missing": True} if counts.missing else {}  # left out otherwise: the bytes are those they always were
    return pack_arrays("pair counts", arrays, meta | {"dtype": counts.classes.dtype.str})


def counts_from_bytes(kind: type[PairCounts], data: bytes) -> PairCounts:
    """The PairCounts that `counts_to_bytes` packed; `kind` is the class."""
    arrays, meta = unpack_arrays("pair counts", data)
    classes = labels_array(meta["classes"], meta["dtype"])
    counts = kind(meta["n_features"], meta["n_bins"], classes, meta.get("missing", False))
    rows, columns = np.triu_indices(counts.joint.shape[1], k=1)
    counts.class_counts = arrays["class_counts"]
    counts.plane_counts = arrays["plane_counts"]
    counts.joint[:, rows, columns] = arrays["triangle"]
    return counts


def narrow(counts: np.ndarray) -> np.ndarray:
    """Counts in the narrowest unsigned integers that hold them all."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def labels_array(classes: list[Any], dtype: str) -> np.ndarray:
    """Class labels from their JSON values; labels of mixed types stay objects."""
    return np.array(classes, dtype=object if np.dtype(dtype).kind == "O" else np.dtype(dtype))


def _digest(kind: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps([kind, meta], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(json.dumps([name, arrays[name].dtype.str, arrays[name].shape]).encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
