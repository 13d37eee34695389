"""What the units took beside what was expected of them: the truth about the estimate of `--dry-run`.

Processor seconds, so that a busy machine does not count; each unit once, however many experiments share it.
"""

from __future__ import annotations

from collections.abc import Iterable

from synafa.study.engine.store import UnitResult
from synafa.study.engine.unit import Unit
from synafa.study.evidence.tables import PlainTable
from synafa.study.reporting.report import Report

LEAST_SHARE = 0.01  # of all seconds: what is below is one row, "everything else"


def processor_seconds(result: UnitResult) -> float:
    """What a unit took, by the clock where its record has no processor time."""
    return float(result.record.get("processor_seconds", result.seconds))


def expected_seconds(result: UnitResult) -> float:
    """What was expected of a unit on the core that it ran on."""
    return result.unit.cost / float(result.record.get("core_speed", 1.0))


def finished_units(report: Report) -> list[UnitResult]:
    """The finished units of all sections and what they needed, each once."""
    return list(
        {result.unit.key: result for section in report.sections for result in section.results.finished}.values()
    )


def what_of(unit: Unit) -> tuple[str, str]:
    """Where a unit belongs in the table: the dataset, and the method or the experiment."""
    dataset = str(unit.parameters.get("dataset", "")) or "-"
    return dataset, str(unit.parameters.get("method", "") or unit.experiment)


def times_table(results: Iterable[UnitResult]) -> PlainTable:
    """Units, expected and taken processor seconds by dataset and method, the dearest first; the sum last."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for result in results:
        groups.setdefault(what_of(result.unit), []).append((expected_seconds(result), processor_seconds(result)))
    everything = [pair for pairs in groups.values() for pair in pairs]
    total = sum(taken for _, taken in everything)
    large = {what: pairs for what, pairs in groups.items() if sum(t for _, t in pairs) >= LEAST_SHARE * total}
    rest = [pair for what, pairs in groups.items() if what not in large for pair in pairs]
    ordered = sorted(large.items(), key=lambda item: -sum(taken for _, taken in item[1]))
    rows = [_row(*what, pairs) for what, pairs in ordered]
    if rest:
        rows.append(_row("everything else", "", rest))
    if everything:
        rows.append(_row("all", "", everything))
    note = (
        "Processor seconds of one core; expected: what `synafa study run --dry-run` adds up on this core. A unit that "
        "several experiments share is counted once."
    )
    columns = ("dataset", "what", "units", "expected, s", "taken, s", "expected / taken")
    return PlainTable("What the units took", "times", columns, rows, note)


def _row(dataset: str, what: str, pairs: list[tuple[float, float]]) -> tuple[str, ...]:
    expected, taken = (sum(pair[i] for pair in pairs) for i in (0, 1))
    ratio = f"{expected / taken:.2f}" if taken > 0 else ""
    return dataset, what, str(len(pairs)), f"{expected:,.0f}", f"{taken:,.0f}", ratio
