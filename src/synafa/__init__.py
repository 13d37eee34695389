"""Which measurement next, and when is it enough? Active feature acquisition from exact pairwise information.

Public names are loaded on first use, so that `import synafa` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synafa.compiling import keep_compiled as _keep_compiled
from synafa.forks import watch as _watch

__version__ = "0.1.0"

_HOMES = {
    "Discretizer": "information.codes",
    "PairCounts": "information.counts",
    "InformationTables": "information.tables",
    "Atoms": "information.pid",
    "SynAFA": "policy.synafa",
    "PlanTree": "plan.plan_tree",
    "PriceList": "money.prices",
    "ErrorCosts": "money.errors",
    "Run": "policy.run",
    "AcquisitionClassifier": "model.classifier",
    "DecisionGraph": "graph.shape",
    "load_model": "model.storage",
    "save_model": "model.storage",
    "SynafaError": "errors",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from synafa.errors import SynafaError as SynafaError
    from synafa.graph.shape import DecisionGraph as DecisionGraph
    from synafa.information.codes import Discretizer as Discretizer
    from synafa.information.counts import PairCounts as PairCounts
    from synafa.information.pid import Atoms as Atoms
    from synafa.information.tables import InformationTables as InformationTables
    from synafa.model.classifier import AcquisitionClassifier as AcquisitionClassifier
    from synafa.model.storage import load_model as load_model
    from synafa.model.storage import save_model as save_model
    from synafa.money.errors import ErrorCosts as ErrorCosts
    from synafa.money.prices import PriceList as PriceList
    from synafa.plan.plan_tree import PlanTree as PlanTree
    from synafa.policy.run import Run as Run
    from synafa.policy.synafa import SynAFA as SynAFA


_keep_compiled()
_watch()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"synafa.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'synafa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
