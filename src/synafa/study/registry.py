"""The study's experiments in the report's order: one line each."""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {}
