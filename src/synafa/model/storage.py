"""A model as one file: which kinds there are, what each must hold, how one is written and read back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError
from synafa.model import schemas as schemas  # declares what the parts must be
from synafa.model.validation import InvalidModelError, validate

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
        validate("policy", arrays, meta)
        return SynAFA.from_arrays(arrays, meta)


def load_rule(path: str | os.PathLike[str]) -> DecisionRule:
    """Only the decision rule of a saved model: enough to recommend, without scikit-learn and without compilation."""
    from synafa.policy.rule import DecisionRule

    arrays, meta = read_file(path, "policy")
    with _Guard(path):
        validate("policy", arrays, meta, ("rule",))
        return DecisionRule.from_arrays(arrays, meta)


class _Guard:
    """Turns what a well-formed file with wrong contents causes into one sentence."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = repr(os.fspath(path))

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, InvalidModelError):
            raise SynafaError(f"{self.name} is damaged: {error}; fit and save the model again.") from error
        if isinstance(error, KeyError | TypeError | IndexError | AttributeError) or (
            isinstance(error, ValueError) and not isinstance(error, SynafaError)
        ):
            raise SynafaError(f"{self.name} lacks a part of the model or holds it in a wrong shape.") from error
