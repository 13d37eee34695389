"""The report as one HTML page that needs nothing else: figures inside, no scripts, no network, light and dark."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.resources import files

from synafa.report.style import css
from synafa.study.evidence.tables import (
    Figure,
    Headline,
    PlainTable,
    ReportTable,
    counts_of,
    shown_columns,
    table_cells,
    table_header,
)
from synafa.study.evidence.verdict import RULE, Verdict
from synafa.study.reporting.markdown import verdict_words
from synafa.study.reporting.report import Report, Section, environment, versions_text
from synafa.study.reporting.times import finished_units, times_table

_LONG = 40  # a table with more rows starts folded
_NUMBERS = 5  # paper, here, interval, spread, p

_MARKS = {
    Verdict.EXACT: ("exact", "="),
    Verdict.WITHIN: ("within", "&#10003;"),
    Verdict.SAME: ("same", "&#10003;"),
    Verdict.NEITHER: ("same", "&#10003;"),
    Verdict.DIFFERS: ("differs", "&#10007;"),
    Verdict.OPPOSITE: ("differs", "&#10007;"),
    Verdict.NO_YARDSTICK: ("none", "&ndash;"),
    Verdict.NOT_RUN: ("none", "&ndash;"),
    Verdict.NOT_COMPARABLE: ("none", "&ndash;"),
}


def render_html(report: Report) -> str:
    """The whole report as one page."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>The study, re-run (profile {escape(report.profile)})</title><style>{_style()}</style></head><body>",
        f'<div class="layout">{_contents(report)}<main>',
        _first_page(report),
        *(_section(section, report) for section in report.sections),
        _not_covered(report),
        _made_with(report),
        "</main></div></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _style() -> str:
    return css(files("synafa.study.reporting").joinpath("report.css").read_text(encoding="utf-8"))


def _contents(report: Report) -> str:
    links = ['<a class="top" href="#first">What held and what did not</a>']
    for section in report.sections:
        links.append(f'<a class="top" href="#{escape(section.name)}">{escape(section.name)}</a>')
        links += [f'<a href="#{_anchor(section, table.label)}">{escape(table.title)}</a>' for table in section.tables]
    links.append('<a class="top" href="#made">Made with</a>')
    return f'<nav aria-label="Contents">{"".join(links)}</nav>'


def _anchor(section: Section, label: str) -> str:
    return escape(f"{section.name}--{label}", quote=True)


def _first_page(report: Report) -> str:
    lines = "".join(f"<li>{_headline(line)}</li>" for line in report.first_page)
    header = ["experiment", "units", *(verdict.value for verdict in Verdict)]
    rows = "".join(
        f'<tr><td class="wide"><a href="#{escape(section.name)}">{escape(section.title)}</a></td>'
        f'<td class="number">{len(section.results)} of {len(section.results.units)}</td>'
        + "".join(f'<td class="number">{_count(section.verdicts[v], v)}</td>' for v in Verdict)
        + "</tr>"
        for section in report.sections
    )
    total = "".join(f'<td class="number"><b>{report.verdicts[v] or ""}</b></td>' for v in Verdict)
    return (
        '<h1 id="first">The study, re-run: every table beside the paper\'s own numbers</h1>'
        f'<p class="about">Profile <b>{escape(report.profile)}</b>, seed {report.settings.seed}. '
        "Every number on this page was computed under this profile.</p>"
        f'<div class="card"><b>What held and what did not</b><ol class="first">{lines}</ol></div>'
        f'<p class="rule"><b>Verdicts.</b> {escape(RULE)} A star marks an adjusted p &lt; 0.05.</p>'
        f'<div class="scroll"><table><thead>{_head(header, 1)}</thead><tbody>{rows}'
        f"<tr><td><b>all</b></td><td></td>{total}</tr></tbody></table></div>"
    )


def _count(count: int, verdict: Verdict) -> str:
    return f'<span class="verdict {_MARKS[verdict][0]}">{count}</span>' if count else ""


def _headline(line: Headline) -> str:
    if line.held is None:
        return escape(line.text)
    kind, word = ("exact", "held") if line.held else ("differs", "did not hold")
    return f'<span class="held {kind}">{word}</span> {escape(line.text)}'


def _section(section: Section, report: Report) -> str:
    results = section.results
    failed = f", {len(results.failed)} failed" if results.failed else ""
    failed += f", {len(results.damaged)} damaged" if results.damaged else ""
    parts = [
        f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2>',
        f'<p class="about">{escape(section.name)}, profile {escape(report.profile)}: {len(results)} of '
        f"{len(results.units)} units finished{failed}, {section.seconds:,.0f} s of computing.</p>",
    ]
    if section.problem:
        parts.append(f'<p class="problem">This experiment could not be reported: {escape(section.problem)}</p>')
    if section.headlines:
        parts.append("<ul>" + "".join(f"<li>{_headline(line)}</li>" for line in section.headlines) + "</ul>")
    parts += [_figure(figure, report.drawings[figure.name]) for figure in section.figures]
    parts += [_table(table, section, report) for table in section.tables]
    if results.failed:
        lines = "".join(
            f"<li>{escape(result.unit.label)}: {escape(result.error.splitlines()[-1] if result.error else '')}</li>"
            for result in results.failed
        )
        parts.append(f"<h3>Failed units</h3><ul>{lines}</ul>")
    return "\n".join(parts)


def _figure(figure: Figure, drawing: bytes) -> str:
    data = b64encode(drawing).decode("ascii")
    kind = "png" if figure.raster else "svg+xml"
    title, caption = escape(figure.title, quote=True), escape(figure.caption)
    return (
        f'<figure><img alt="{title}" src="data:image/{kind};base64,{data}">'
        f"<figcaption><b>{title}.</b> {caption}</figcaption></figure>"
    )


def _table(table: ReportTable | PlainTable, section: Section, report: Report) -> str:
    header, cells = table_header(table), table_cells(table)
    if isinstance(table, PlainTable):
        about = f"Ours only ({escape(table.label)}), profile {escape(report.profile)}."
        grid = _plain_grid(header, cells)
    else:
        counts = counts_of(table.rows)
        about = (
            f"Beside the paper's {escape(table.label)}, profile {escape(report.profile)}: "
            f"{escape(verdict_words(counts) or 'the paper prints no value')}."
        )
        head = _head([header[i] for i in shown_columns(table)], len(table.columns))
        grid = f"<table><thead>{head}</thead><tbody>{_judged_rows(table)}</tbody></table>"
    grid = f'<div class="scroll">{grid}</div>'
    if len(cells) > _LONG:
        grid = f"<details><summary>{len(cells)} rows</summary>{grid}</details>"
    note = f'<p class="about">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3 id="{_anchor(section, table.label)}">{escape(table.title)}</h3><p class="about">{about}</p>{grid}{note}'
    )


def _plain_grid(header: list[str], cells: list[list[str]]) -> str:
    """A table of ours; columns of numbers stand on the right."""
    numbers = {i for i in range(len(header)) if cells and all(_is_number(row[i]) for row in cells)}
    head = "".join(f"<th{_right(i in numbers)}>{escape(name)}</th>" for i, name in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{_right(i in numbers)}>{escape(c)}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in cells
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _judged_rows(table: ReportTable) -> str:
    words, shown = len(table.columns), shown_columns(table)
    rows = []
    for row, cells in zip(table.rows, table_cells(table)):
        marked = [_cell(i, cell, words, row.verdict) for i, cell in enumerate(cells) if i in shown]
        rows.append(f"<tr>{''.join(marked)}</tr>")
    return "".join(rows)


def _cell(index: int, text: str, words: int, verdict: Verdict | None) -> str:
    """One cell of a compared row: labels, then five columns of numbers, then verdict, then note."""
    place = index - words
    if place < 0:
        return f"<td>{escape(text)}</td>"
    if place < _NUMBERS:
        return f'<td class="number">{escape(text)}</td>'
    if place == _NUMBERS and verdict is not None:
        kind, mark = _MARKS[verdict]
        return f'<td><span class="verdict {kind}">{mark} {escape(text)}</span></td>'
    return f'<td class="note">{escape(text)}</td>'


def _head(names: list[str], words: int) -> str:
    """A header row whose first `words` columns are text, and numbers after that up to the verdict."""
    text = {"verdict", "note"}
    cells = (f"<th{_right(i >= words and name not in text)}>{escape(name)}</th>" for i, name in enumerate(names))
    return f"<tr>{''.join(cells)}</tr>"


def _right(number: bool) -> str:
    return ' class="number"' if number else ""


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").rstrip("*%") or "0")
    except ValueError:
        return False
    return True


def _not_covered(report: Report) -> str:
    if not report.uncovered:
        return ""
    names = ", ".join(escape(label) for label in report.uncovered)
    return f"<h2>Not in this report</h2><p>Tables of the paper without a counterpart here: {names}.</p>"


def _made_with(report: Report) -> str:
    facts, times = environment(report), times_table(finished_units(report))
    cores, grid = facts["cores"], _plain_grid(table_header(times), table_cells(times))
    return (
        f'<h2 id="made">Made with</h2><p>{facts["units"]} units, {facts["compute_seconds"]} s of computing, '
        f"cores {escape(str(cores))}, from {facts['first_started']} to {facts['last_started']}. "
        f"{escape(versions_text(facts))}.</p>"
        f'<h3>{escape(times.title)}</h3><div class="scroll">{grid}</div>'
        f'<p class="about">{escape(times.note)}</p>'
    )
