"""The shared masked MLP (extra `neural`). Names are loaded on first use: settings need no torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "MLPConfig": "settings",
    "PUBLISHED": "settings",
    "config_for": "settings",
    "MaskedMLP": "masked_mlp",
    "shared_classifier": "shared",
}

__all__ = ["PUBLISHED", "MLPConfig", "MaskedMLP", "config_for", "shared_classifier"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"synafa.neural.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'synafa.neural' has no attribute {name!r}")
