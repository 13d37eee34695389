"""Which measurement next, and when is it enough? Active feature acquisition from exact pairwise information.

Public names are loaded on first use, so that `import synafa` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Discretizer": "codes",
    "PairCounts": "counts",
    "InformationTables": "information",
    "Atoms": "pid",
    "SynAFA": "policy",
    "Run": "run",
    "AcquisitionClassifier": "classifier",
    "DecisionGraph": "graph",
    "load_model": "storage",
    "save_model": "storage",
    "SynafaError": "errors",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from synafa.classifier import AcquisitionClassifier as AcquisitionClassifier
    from synafa.codes import Discretizer as Discretizer
    from synafa.counts import PairCounts as PairCounts
    from synafa.errors import SynafaError as SynafaError
    from synafa.graph import DecisionGraph as DecisionGraph
    from synafa.information import InformationTables as InformationTables
    from synafa.pid import Atoms as Atoms
    from synafa.policy import SynAFA as SynAFA
    from synafa.run import Run as Run
    from synafa.storage import load_model as load_model
    from synafa.storage import save_model as save_model


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"synafa.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'synafa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
