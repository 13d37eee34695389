"""The report as Markdown, with figures as files beside it."""

from __future__ import annotations

from synafa.study.evidence import tables
from synafa.study.evidence.tables import Headline, PlainTable, ReportTable
from synafa.study.evidence.verdict import RULE, Verdict
from synafa.study.reporting.report import Report, Section, environment, versions_text
from synafa.study.reporting.times import finished_units, times_table


def render_markdown(report: Report) -> str:
    """The whole report as one Markdown page."""
    blocks = [
        "# The study, re-run: every table beside the paper's own numbers",
        f"Profile **{report.profile}**, seed {report.settings.seed}. The same as one page: [report.html](report.html).",
        "## What held and what did not",
        "\n".join(f"{number}. {headline_text(line)}" for number, line in enumerate(report.first_page, 1)),
        f"Verdicts: {RULE}",
        _overview(report),
        *(block for section in report.sections for block in _section(section, report)),
        _not_covered(report),
        _made_with(report),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline_text(line: Headline) -> str:
    """The sentence with a word in front that says whether the claim held."""
    words = {True: "**Held.** ", False: "**Did not hold.** ", None: ""}
    return words[line.held] + line.text


def verdict_words(counts: dict[Verdict, int]) -> str:
    """Counts in words: `3 exact, 2 differs`."""
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts.get(verdict))


def _overview(report: Report) -> str:
    header = ["experiment", "units", *(verdict.value for verdict in Verdict)]
    rows = [
        [
            f"[{section.name}](#{section.name})",
            f"{len(section.results)} of {len(section.results.units)}",
            *(str(section.verdicts[verdict]) for verdict in Verdict),
        ]
        for section in report.sections
    ]
    return _grid(header, rows)


def _section(section: Section, report: Report) -> list[str]:
    blocks = [f"## {section.name}", f"{section.title}. {_progress(section)}"]
    if section.problem:
        blocks.append(f"**This experiment could not be reported:** {section.problem}")
    blocks.append("\n".join(f"- {headline_text(line)}" for line in section.headlines))
    for figure in section.figures:
        blocks += [f"![{figure.title}](figures/{figure.file})", f"*{figure.title}.* {figure.caption}"]
    for table in section.tables:
        blocks += [
            f"### {table.title}",
            _about(table, report),
            _grid(tables.table_header(table), tables.table_cells(table)),
            table.note,
        ]
    failures = [f"- {result.unit.label}: {result.error.splitlines()[-1]}" for result in section.results.failed]
    if failures:
        blocks += ["Failed units:", "\n".join(failures)]
    return blocks


def _table(table: ReportTable | PlainTable) -> str:
    shown = tables.shown_columns(table)
    header = tables.table_header(table)
    return _grid([header[i] for i in shown], [[row[i] for i in shown] for row in tables.table_cells(table)])


def _progress(section: Section) -> str:
    results = section.results
    failed = f", {len(results.failed)} failed" if results.failed else ""
    failed += f", {len(results.damaged)} damaged" if results.damaged else ""
    return f"{len(results)} of {len(results.units)} units finished{failed}, {section.seconds:,.0f} s of computing."


def _about(table: ReportTable | PlainTable, report: Report) -> str:
    if isinstance(table, PlainTable):
        return f"Ours only (`{table.label}`), profile {report.profile}."
    counts = tables.counts_of(table.rows)
    return f"Beside the paper's `{table.label}`, profile {report.profile}: {verdict_words(counts) or 'no paper value'}."


def _grid(header: list[str], rows: list[list[str]]) -> str:
    lines = [_line(header), "|" + "---|" * len(header), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("*", r"\*").replace("\n", " ") for cell in cells) + " |"


def _not_covered(report: Report) -> str:
    if not report.uncovered:
        return ""
    names = ", ".join(f"`{label}`" for label in report.uncovered)
    return f"## Not in this report\n\nTables of the paper without a counterpart here: {names}."


def _made_with(report: Report) -> str:
    facts, times = environment(report), times_table(finished_units(report))
    made = f"{facts['units']} units, {facts['compute_seconds']} s of computing; {versions_text(facts)}."
    grid = _grid(tables.table_header(times), tables.table_cells(times))
    return "\n\n".join(["## Made with", made, f"### {times.title}", grid, times.note])
