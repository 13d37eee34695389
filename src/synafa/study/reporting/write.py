"""A report as files: `report.html` (self-contained), `README.md`, `figures/*.svg`, `tables/*.csv` and `results/`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from synafa.files import atomic_path, write_text
from synafa.study.engine.settings import Settings
from synafa.study.engine.store import Store
from synafa.study.evidence.tables import PlainTable, ReportTable, table_cells, table_header
from synafa.study.experiments.contract import Experiment
from synafa.study.reporting.html import render_html
from synafa.study.reporting.markdown import render_markdown
from synafa.study.reporting.report import Report, Section, build_report, environment
from synafa.study.reporting.times import expected_seconds, processor_seconds

_UNIT, _TIMES = ("experiment", "key", "unit"), ("seconds", "processor_seconds", "expected_seconds")
_MOST_ROWS = 20_000  # of a result table that is small enough to keep beside the report


def write_report(experiments: Sequence[Experiment], settings: Settings, output: Path) -> Report:
    """Build the report and write all its files under `output`."""
    report = build_report(experiments, settings)
    for section in report.sections:
        for figure in section.figures:
            with atomic_path(output / "figures" / figure.file) as temporary:
                temporary.write_bytes(report.drawings[figure.name])
        for table in section.tables:
            write_text(output / "tables" / f"{section.name}--{table.label}.csv", _csv(table, report.profile))
        _export_rows(section, output / "results")
    write_text(output / "results" / "units.csv", _unit_list(report))
    write_text(output / "results" / "environment.json", json.dumps(environment(report), indent=2) + "\n")
    write_text(output / "README.md", render_markdown(report))
    write_text(output / "report.html", render_html(report))
    return report


def _csv(table: ReportTable | PlainTable, profile: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*table_header(table), "profile"])
    for cells in table_cells(table):
        writer.writerow([*cells, profile])
    return text.getvalue()


def _export_rows(section: Section, folder: Path) -> None:
    if 0 < len(section.results.rows) <= _MOST_ROWS:
        frame = section.results.frame()
        with atomic_path(folder / f"{section.name}.parquet") as temporary:
            frame.write_parquet(temporary, compression="zstd")


def _unit_list(report: Report) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_UNIT, "status", *_TIMES, "started", "profile", "seed"])
    store, seen = Store(report.settings.results), set()
    for unit in (unit for section in report.sections for unit in section.results.units):
        if unit.key in seen:
            continue
        seen.add(unit.key)
        result = store.load(unit)
        status, seconds, processor, started, expected = "pending", "", "", "", unit.cost
        if result is not None:
            status, started = result.status, result.record.get("started", "")
            seconds, processor = f"{result.seconds:.3f}", f"{processor_seconds(result):.3f}"
            expected = expected_seconds(result)
        known = (status, seconds, processor, round(expected, 1), started)
        writer.writerow([unit.experiment, unit.key, unit.label, *known, unit.profile, unit.seed])
    return text.getvalue()
