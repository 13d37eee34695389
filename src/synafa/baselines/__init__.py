"""The published policies behind one batched `propose`: dataset -> policy. See `REGISTRY` and `train`."""

from __future__ import annotations

from synafa.baselines.registry import PROFILE_NAMES, REGISTRY, Baseline, find
from synafa.baselines.training import Progress, load, save, train

__all__ = ["PROFILE_NAMES", "REGISTRY", "Baseline", "Progress", "find", "load", "save", "train"]
