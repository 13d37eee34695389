"""A model as one file: which kinds there are, what each must hold, how one is written and read back."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.policy.rule import DecisionRule
    from synafa.policy.synafa import SynAFA


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted `SynAFA`; a classifier's predictor cannot be stored without pickle, so save its `policy_`."""
    if not hasattr(model, "to_arrays"):
        hint = "; save its policy_ and refit the predictor" if hasattr(model, "predictor") else ""
        raise SynafaError(f"A {type(model).__name__} cannot be saved, only a fitted SynAFA can{hint}.")
    arrays, meta = model.to_arrays()
    write_file(path, "policy", arrays, meta)


def load_model(path: str | os.PathLike[str]) -> SynAFA:
    """The fitted `SynAFA` that `save_model` or `SynAFA.save` wrote."""
    from synafa.policy.synafa import SynAFA

    arrays, meta = read_file(path, "policy")
    with _Guard(path):
        _check_rule(arrays, meta)
        _check_training(arrays, meta)
        return SynAFA.from_arrays(arrays, meta)


def load_rule(path: str | os.PathLike[str]) -> DecisionRule:
    """Only the decision rule of a saved model: enough to recommend, without scikit-learn and without compilation."""
    from synafa.policy.rule import DecisionRule

    arrays, meta = read_file(path, "policy")
    with _Guard(path):
        _check_rule(arrays, meta)
        return DecisionRule.from_arrays(arrays, meta)


def _check_rule(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Types, shapes and ranges that compiled code relies on; a ValueError says that the contents are wrong."""
    d, bins = len(arrays["single"]), arrays["cond"].shape[2]
    wanted = {"single": (d,), "pair": (d, d), "cond": (d, d, bins), "costs": (d,), "edges": (d, bins - 1)}
    wanted |= {"known": (d,), "unavailable": (d,)}
    for name, shape in wanted.items():
        kind = "b" if name in ("known", "unavailable") else "f"
        if arrays[name].shape != shape or arrays[name].dtype.kind != kind:
            raise ValueError(name)
    if not (np.isfinite(arrays["costs"]).all() and (arrays["costs"] >= 0).all() and 2 <= bins <= 16):
        raise ValueError("costs")
    if not (math.isfinite(meta["budget"]) and meta["budget"] >= 0 and meta["classes"]):
        raise ValueError("budget")


def _check_training(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """As `_check_rule`, for the training codes and classes."""
    codes, classes, bins = arrays["training_codes"], arrays["training_classes"], meta["n_bins"]
    n, d, k = len(classes), len(arrays["single"]), len(meta["classes"])
    packed = bins == 2  # eight rows to a byte
    if codes.shape != (-(-n // 8) if packed else n, d) or codes.dtype != np.uint8 or bins != arrays["cond"].shape[2]:
        raise ValueError("training_codes")
    if classes.ndim != 1 or classes.dtype.kind != "i" or (not packed and (codes >= bins).any()):
        raise ValueError("training_classes")
    if n == 0 or classes.min() < 0 or classes.max() >= k or arrays["specific"].shape != (k, d):
        raise ValueError("training_classes")


class _Guard:
    """Turns what a well-formed file with wrong contents causes into one sentence."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = repr(os.fspath(path))

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, KeyError | TypeError | IndexError | AttributeError) or (
            isinstance(error, ValueError) and not isinstance(error, SynafaError)
        ):
            raise SynafaError(f"{self.name} lacks a part of the model or holds it in a wrong shape.") from error
