"""The study: experiments made of small resumable units, their results, and the report beside the paper's own numbers.

An experiment is one module (see `experiments.contract`); adding one touches one line of `experiments.registry`.
"""

from __future__ import annotations

from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportRow, ReportTable

__all__ = ["Figure", "Headline", "PlainTable", "ReportRow", "ReportTable", "Settings", "Unit"]
