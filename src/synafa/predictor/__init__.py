"""Class probabilities from any subset of features, without torch: fitted once, stored as arrays, predicted by NumPy.

`fit_predictor` and `cross_fit` are loaded on first use; predicting needs NumPy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "MaskedPredictor": "model",
    "predictor_from_arrays": "model",
    "fit_predictor": "fitting",
    "cross_fit": "crossfit",
    "CrossFitted": "crossfit",
    "log_loss": "calibration",
    "calibration_error": "calibration",
    "random_masks": "masks",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from synafa.predictor.calibration import calibration_error as calibration_error
    from synafa.predictor.calibration import log_loss as log_loss
    from synafa.predictor.crossfit import CrossFitted as CrossFitted
    from synafa.predictor.crossfit import cross_fit as cross_fit
    from synafa.predictor.fitting import fit_predictor as fit_predictor
    from synafa.predictor.masks import random_masks as random_masks
    from synafa.predictor.model import MaskedPredictor as MaskedPredictor
    from synafa.predictor.model import predictor_from_arrays as predictor_from_arrays


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"synafa.predictor.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'synafa.predictor' has no attribute {name!r}")
