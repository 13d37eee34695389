"""A policy of one's own from `module:Name`: a class, a function that makes one, or a ready object."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.evaluation.protocols import Policy


def find_policy(spec: str) -> Any:
    """What `module:Name` names: a class or object with `propose`, or a function that makes one.

    Raises
    ------
    SynafaError
        When it cannot be imported, or is a class or an object that does not propose.
    """
    module, colon, attribute = spec.partition(":")
    if not colon or not module or not attribute or module.startswith("."):
        raise SynafaError(f"Cannot read the policy {spec!r}; write module:Name, as in my_module:MyPolicy.")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the working directory
    try:
        found = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise SynafaError(f"There is no module {error.name!r} for the policy {spec!r}; is it importable?") from None
    except Exception as error:  # whatever the module itself raises
        raise SynafaError(f"Cannot import {attribute!r} from {module!r}: {_in_words(error)}.") from error
    if not hasattr(found, "propose") and (inspect.isclass(found) or not callable(found)):
        raise SynafaError(f"{spec!r} has no method propose(values, mask, remaining); see synafa.evaluation.Policy.")
    return found


def _in_words(error: BaseException) -> str:
    """The error of someone else's code in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")[:300]


def takes_budget(found: Any) -> bool:
    """Whether what `find_policy` found is made once a budget: it takes `budget`, or says `per_budget = True`."""
    return "budget" in _parameters(found) or bool(getattr(found, "per_budget", False))


def own_policy(spec: str, dataset: Dataset, budgets: Iterable[float], seed: int = 0) -> Policy | dict[float, Policy]:
    """A policy of one's own, ready to run on a dataset.

    A class or function is called with those of `dataset`, `budget`, `seed`, `costs` and `prices` (a `PriceList` where
    prices depend on what was paid, else None) that it has parameters for, once for all budgets or, if it takes
    `budget`, once a budget; an object with `fit` is fitted on the training rows.

    Parameters
    ----------
    spec : str
    dataset : Dataset
    budgets : iterable of float
    seed : int, default=0

    Returns
    -------
    Policy or dict of Policy by budget

    Raises
    ------
    SynafaError
        When it cannot be imported or made, or does not propose.
    """
    found = find_policy(spec)
    if takes_budget(found):
        return {float(b): _made(found, dataset, float(b), seed, spec) for b in budgets}
    return _made(found, dataset, max(float(b) for b in budgets), seed, spec)


def _parameters(found: Any) -> set[str]:
    if not callable(found) or (hasattr(found, "propose") and not inspect.isclass(found)):
        return set()
    try:
        return set(inspect.signature(found).parameters)
    except (TypeError, ValueError):  # one that is compiled and does not say
        return set()


def _made(found: Any, dataset: Dataset, budget: float, seed: int, spec: str) -> Policy:
    offered = {"dataset": dataset, "budget": budget, "seed": seed, "costs": dataset.costs, "prices": dataset.prices}
    policy = found
    try:
        if inspect.isclass(found) or not hasattr(found, "propose"):
            names = _parameters(found)
            policy = found(**{name: value for name, value in offered.items() if name in names})
        if hasattr(policy, "fit"):
            policy = policy.fit(dataset.X[dataset.train], dataset.y[dataset.train]) or policy
    except SynafaError:
        raise
    except Exception as error:  # someone else's code
        raise SynafaError(f"{spec!r} cannot be made or fitted: {_in_words(error)}.") from error
    if not hasattr(policy, "propose"):
        raise SynafaError(f"{spec!r} has no method propose(values, mask, remaining); see synafa.evaluation.Policy.")
    return policy
