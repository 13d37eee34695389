"""A model as one file: which kinds there are, what each must hold, how one is written and read back.

"policy" is a SynAFA, "wide-policy" one of a very wide table, "plan-tree" a PlanTree with its predictor, "model" an
AcquisitionClassifier: one of these with a predictor, error costs and ranges of values. No kind holds training rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.arrays import read_any
from synafa.errors import SynafaError
from synafa.model import plan_schemas as plan_schemas  # these three declare what the parts must be
from synafa.model import schemas as schemas
from synafa.model import wide_schemas as wide_schemas
from synafa.model.validation import InvalidModelError, validate
from synafa.wording import worded

if TYPE_CHECKING:
    from synafa.model.answering import Bedside
    from synafa.money.errors import ErrorCosts
    from synafa.money.stops import StopRule
    from synafa.policy.rule import Rule

_RULES = ("policy", "wide-policy")  # kinds that are a SynAFA


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted `SynAFA`, `PlanTree` or `AcquisitionClassifier` to one file.

    Parameters
    ----------
    model : SynAFA, PlanTree or AcquisitionClassifier
        A fitted model; a classifier's predictor must be the package's own.
    path : str or path
        The file to write; it is replaced whole or not at all.

    Raises
    ------
    SynafaError
        When the model cannot be stored or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from synafa import SynAFA
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.synafa"
    >>> save_model(SynAFA(budget=1).fit([[0.0, 1.0], [1.0, 1.0]] * 9, [0, 1] * 9), path)
    >>> load_model(path).next_feature().feature
    'x0'
    """
    if not hasattr(model, "to_arrays"):
        raise SynafaError(
            f"A {type(model).__name__} cannot be saved, only a fitted AcquisitionClassifier, PlanTree or SynAFA."
        )
    model.save(path)


@worded
def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` or `.save` wrote; nothing in the file is executed.

    {stored_file}

    Returns
    -------
    AcquisitionClassifier, PlanTree or SynAFA
        The fitted model that was saved.

    Raises
    ------
    SynafaError
        When the file is none, is damaged or was written by a newer version.

    Examples
    --------
    >>> load_model("absent.synafa")
    Traceback (most recent call last):
        ...
    synafa.errors.SynafaError: ...
    """
    kind, arrays, meta = read_any(path)
    _check_kind(path, kind)
    with _Guard(path):
        return _put_together(arrays, meta) if kind == "model" else _policy(kind, arrays, meta)


def load_bedside(path: str | os.PathLike[str]) -> Bedside:
    """A saved model of any kind, only to be asked: it recommends and predicts without scikit-learn or compilation."""
    from synafa.model.answering import Bedside

    kind, arrays, meta = read_any(path)
    _check_kind(path, kind)
    with _Guard(path):
        if kind != "model":
            policy = _light_policy(kind, arrays, meta)
            errors = getattr(policy, "error_costs_", None)
            return Bedside(policy, getattr(policy, "predictor_", None), errors)
        _validate_model(arrays, meta)
        policy = _light_policy(meta["policy_kind"], _part(arrays, "policy."), meta["policy"])
        return Bedside(policy, *_around(policy, arrays, meta), _stop(meta))


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Only the decision rule of a saved SynAFA: enough to recommend, without scikit-learn and without compilation."""
    kind, arrays, meta = read_any(path)
    if kind not in _RULES:
        raise SynafaError(f"{os.fspath(path)!r} holds a {kind}, but a policy is needed here.")
    with _Guard(path):
        return _rule(kind, arrays, meta)


def _check_kind(path: str | os.PathLike[str], kind: str) -> None:
    if kind not in ("model", "plan-tree", *_RULES):
        raise SynafaError(f"{os.fspath(path)!r} holds a {kind}, but a model is needed here.")


def _rule(kind: str, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Rule:
    validate(kind, arrays, meta, ("rule",))
    if kind == "wide-policy":
        from synafa.policy.wide_rule import WideRule

        return WideRule.from_arrays(arrays, meta)
    from synafa.policy.rule import DecisionRule

    return DecisionRule.from_arrays(arrays, meta)


def _light_policy(kind: str, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Any:
    if kind in _RULES:
        from synafa.model.answering import StoredRule

        return StoredRule(_rule(kind, arrays, meta))
    from synafa.plan.answering import StoredPlan
    from synafa.plan.store import restore

    _validate_plan_tree(arrays, meta)
    plan = StoredPlan()
    restore(plan, arrays, meta)
    return plan


def _policy(kind: str, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Any:
    if kind in _RULES:
        from synafa.policy.synafa import SynAFA

        validate(kind, arrays, meta)
        return SynAFA.from_arrays(arrays, meta)
    from synafa.plan.plan_tree import PlanTree

    _validate_plan_tree(arrays, meta)
    return PlanTree.from_arrays(arrays, meta)


def _put_together(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Any:
    """The AcquisitionClassifier that `to_arrays` described."""
    from synafa.model.classifier import AcquisitionClassifier

    _validate_model(arrays, meta)
    policy = _policy(meta["policy_kind"], _part(arrays, "policy."), meta["policy"])
    model = AcquisitionClassifier(policy=policy)
    model.policy_, model.classes_, model.n_features_in_ = policy, policy.classes_, policy.n_features_in_
    model.predictor_, model.error_costs_, model.ranges_ = _around(policy, arrays, meta)
    model.error_costs = model.error_costs_
    model.stop = model.stop_ = _stop(meta)
    if hasattr(policy, "feature_names_in_"):
        model.feature_names_in_ = policy.feature_names_in_
    return model


def _validate_model(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """The model's own parts by their schema; policy and predictor by theirs when they are read."""
    validate("model", {name: arrays[name] for name in arrays if "." not in name}, meta)
    _refuse_undescribed(arrays, meta)


def _around(
    policy: Any, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> tuple[Any, ErrorCosts | None, np.ndarray]:
    """What a model holds beside its policy: predictor, error costs, ranges of training values."""
    from synafa.money.errors import ErrorCosts

    errors = None if meta["error_costs"] is None else ErrorCosts.from_meta(meta["error_costs"])
    ranges = np.where(np.isinf(arrays["ranges"]), np.nan, arrays["ranges"])
    if len(ranges) != policy.n_features_in_:
        raise InvalidModelError("'ranges' does not fit the number of features")
    if errors is not None and len(errors.classes) != len(policy.classes_):
        raise InvalidModelError("'error_costs' does not fit the classes")
    if meta["predictor"] is None:
        return getattr(policy, "predictor_", None), errors, ranges
    return _predictor(_part(arrays, "predictor."), meta["predictor"], policy), errors, ranges


def _stop(meta: Mapping[str, Any]) -> StopRule | None:
    from synafa.money.stops import StopRule

    return None if meta.get("stop") is None else StopRule.from_meta(meta["stop"])


def _predictor(arrays: Mapping[str, np.ndarray], meta: Any, policy: Any) -> Any:
    from synafa.predictor import predictor_from_arrays

    validate("predictor", arrays, meta)
    found = predictor_from_arrays(dict(arrays), meta)
    if (found.n_features, found.n_classes) != (policy.n_features_in_, len(policy.classes_)):
        raise InvalidModelError("the predictor does not fit the policy's features and classes")
    return found


def _validate_plan_tree(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """The tree and its prices by their schema, the predictor inside by its own."""
    validate("plan-tree", {name: a for name, a in arrays.items() if not name.startswith("predictor.")}, meta)
    _refuse_undescribed(arrays, meta)
    if meta["predictor"] is not None:
        validate("predictor", _part(arrays, "predictor."), meta["predictor"])


def _refuse_undescribed(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Refuse the arrays of a predictor that the model does not say it has: it would answer without probabilities."""
    if meta["predictor"] is None and _part(arrays, "predictor."):
        raise InvalidModelError("'predictor' is not described, but its arrays are there")


def _part(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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
