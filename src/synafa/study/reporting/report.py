"""Results into a report: each experiment's tables, figures and sentences, the verdicts counted.

Only results of one profile are read, and every table says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from synafa.report.figures import png_bytes, svg_bytes
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.evidence.paper import paper_labels
from synafa.study.evidence.tables import (
    Figure,
    Headline,
    PlainTable,
    ReportRow,
    ReportTable,
    counts_of,
)
from synafa.study.evidence.verdict import Verdict
from synafa.study.experiments.contract import Experiment

_LINES = 10  # of the first page


@dataclass(frozen=True, eq=False)
class Section:
    """One experiment in the report; `problem` is why it could not be reported, if so."""

    name: str
    title: str
    covers: tuple[str, ...]
    results: Results
    tables: Sequence[ReportTable | PlainTable] = ()
    figures: Sequence[Figure] = ()
    headlines: Sequence[Headline] = ()
    problem: str = ""

    @cached_property
    def verdicts(self) -> Counter[Verdict]:
        """Counts over the section, each of the paper's numbers once."""
        return counts_of(self.rows)

    @property
    def rows(self) -> list[ReportRow]:
        """All rows that stand beside the paper's."""
        return [row for table in self.tables if isinstance(table, ReportTable) for row in table.rows]

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.results.finished)


@dataclass(frozen=True, eq=False)
class Report:
    """All sections under one profile."""

    settings: Settings
    sections: Sequence[Section]
    drawings: dict[str, bytes] = field(default_factory=dict)

    @property
    def profile(self) -> str:
        return self.settings.profile

    @cached_property
    def verdicts(self) -> Counter[Verdict]:
        """Counts over the report, each of the paper's numbers once (so that sections add up to more)."""
        return counts_of(row for section in self.sections for row in section.rows)

    @property
    def uncovered(self) -> list[str]:
        """Labels of the paper's tables that no row of this report stands beside."""
        shown = {table.label for section in self.sections for table in section.tables}
        return [label for label in paper_labels() if label not in shown]

    @property
    def summary(self) -> str:
        """The count of verdicts in one sentence."""
        counts = self.verdicts
        judged = sum(count for verdict, count in counts.items() if verdict.agrees is not None)
        if not judged:
            return "No number of the paper has been compared yet."
        said = [f"{counts[v]} {_PHRASES[v]}" for v in Verdict if v.agrees is not None and counts[v]]
        return f"{judged} of the paper's numbers were compared (profile {self.profile}): {_listed(said)}."

    @property
    def unjudged(self) -> str:
        """What could not be compared, in one sentence, or nothing."""
        silent = (Verdict.NO_YARDSTICK, Verdict.NOT_COMPARABLE, Verdict.NOT_RUN)
        said = [f"{self.verdicts[v]} {v.value}" for v in silent if self.verdicts[v]]
        unfinished = [section.name for section in self.sections if not section.results.complete]
        where = f" (unfinished: {', '.join(unfinished)})" if unfinished else ""
        return f" Not compared: {_listed(said) if said else 'none'}{where}." if said or where else ""

    @property
    def first_page(self) -> list[Headline]:
        """At most ten lines: the counts and what is missing, then the experiments' own sentences by rank."""
        said = sorted((line for section in self.sections for line in section.headlines), key=lambda line: line.rank)
        return [Headline(self.summary + self.unjudged), *said][:_LINES]


_PHRASES = {
    Verdict.EXACT: "exact",
    Verdict.WITHIN: "within our spread",
    Verdict.SAME: "with the same sign, both significant",
    Verdict.NEITHER: "significant in neither",
    Verdict.DIFFERS: "differ",
    Verdict.OPPOSITE: "with the opposite sign",
}


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def build_report(experiments: Sequence[Experiment], settings: Settings) -> Report:
    """Read the results and let every experiment make its tables, figures and sentences."""
    sections = [_section(experiment, settings) for experiment in experiments]
    drawings = {
        figure.name: (png_bytes if figure.raster else svg_bytes)(figure.figure)
        for section in sections
        for figure in section.figures
    }
    return Report(settings, sections, drawings)


def _section(experiment: Experiment, settings: Settings) -> Section:
    results = experiment.results(settings)
    basics = (experiment.name, experiment.title, experiment.covers, results)
    try:
        return Section(*basics, experiment.tables(results), experiment.figures(results), experiment.headline(results))
    except Exception as problem:  # one broken experiment must not hide the others; the report says so in its place
        return Section(*basics, problem=f"{type(problem).__name__}: {problem}")


def environment(report: Report) -> dict[str, object]:
    """Which versions, cores and times the results come from."""
    finished = {result.unit.key: result for section in report.sections for result in section.results.finished}
    records = [result.record for result in finished.values()]
    versions: dict[str, set[str]] = {}
    for record in records:
        for name, number in record.get("versions", {}).items():
            versions.setdefault(name, set()).add(number)
    started = sorted(str(record["started"]) for record in records if record.get("started"))
    return {
        "profile": report.profile,
        "seed": report.settings.seed,
        "datasets": list(report.settings.datasets),
        "units": len(records),
        "compute_seconds": round(sum(float(record.get("seconds", 0)) for record in records), 1),
        "peak_mib_of_a_worker": max((int(record.get("peak_mib") or 0) for record in records), default=0),
        "cores": sorted({int(record["cores"]) for record in records if record.get("cores")}),
        "core_speed": sorted({float(record["core_speed"]) for record in records if record.get("core_speed")}),
        "first_started": started[0] if started else None,
        "last_started": started[-1] if started else None,
        "versions": {name: ", ".join(sorted(numbers)) for name, numbers in sorted(versions.items())},
    }


def versions_text(facts: dict[str, object]) -> str:
    """The versions of `environment` in words: `numpy 2.3.0, torch 2.8.0`."""
    versions = facts["versions"]
    assert isinstance(versions, dict)
    return ", ".join(f"{name} {number}" for name, number in versions.items())
