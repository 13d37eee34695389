"""The study: experiments made of small resumable units, their results, and the report beside the paper's own numbers.

An experiment is one module (see `synafa.study.experiment`); adding one touches one line of `synafa.study.registry`.
"""

from __future__ import annotations

from synafa.study.settings import Settings
from synafa.study.tables import Figure, Headline, PlainTable, ReportRow, ReportTable
from synafa.study.unit import Unit

__all__ = ["Figure", "Headline", "PlainTable", "ReportRow", "ReportTable", "Settings", "Unit"]
