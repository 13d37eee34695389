"""The demonstration's comparison as lines on a terminal, as JSON values, and as a page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.demo.compare import Comparison, gain
from synafa.demo.policies import POLICIES
from synafa.graph.draw import to_svg
from synafa.report.page import Curve, Section, bar_plot, curve_plot, page, paragraphs, table_html, zoom_pane

if TYPE_CHECKING:
    from rich.console import Console


def example(comparison: Comparison) -> list[str]:
    """The first recommendations for a typical case (the medians of the table), with their reasons."""
    typical = dict(zip(comparison.task.feature_names, np.median(comparison.task.X, axis=0).tolist()))
    observed: dict[str, float] = {}
    lines: list[str] = []
    for _ in range(3):
        found = comparison.policy.next_feature(observed)
        lines.append(found.text)
        if found.feature is None:
            break
        observed[found.feature] = typical[found.feature]
        lines[-1] += f" Result: {observed[found.feature]:.4g}."
    return lines


def gains(comparison: Comparison) -> list[str]:
    """SynAFA against the other policies at the largest budget, in words."""
    last = len(comparison.task.budgets) - 1
    lines = []
    for other in POLICIES[1:]:
        difference, low, high = gain(comparison, other, last)
        verdict = "no clear difference" if low <= 0 <= high else ("better" if difference > 0 else "worse")
        lines.append(
            f"SynAFA against {other} at budget {comparison.task.budgets[-1]:g}: {100 * difference:+.1f} points "
            f"of accuracy (95 % interval {100 * low:+.1f} to {100 * high:+.1f}), {verdict}."
        )
    return lines


def accuracy_rows(comparison: Comparison) -> list[list[str]]:
    """One row a policy: accuracy in per cent with half the width of its interval."""
    rows = []
    for name in POLICIES:
        low, high = comparison.interval(name)
        cells = zip(comparison.accuracy(name), (high - low) / 2)
        rows.append([name, *(f"{100 * mean:.1f}±{100 * half:.1f}" for mean, half in cells)])
    return rows


def header(comparison: Comparison) -> list[str]:
    return ["policy", *(f"{budget:g}" for budget in comparison.task.budgets)]


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The comparison as a table, a verdict and an example."""
    from rich.table import Table

    task = comparison.task
    cases = comparison.correct["SynAFA"].shape[1]
    console.print(f"[bold]{task.title}[/bold]. {task.story}")
    table = Table(
        title=f"Accuracy in % by budget, {cases:,} test cases (± half a 95 % interval)", title_justify="left", box=None
    )
    for i, name in enumerate(header(comparison)):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for row in accuracy_rows(comparison):
        table.add_row(*row, style="bold" if row[0] == "SynAFA" else "")
    console.print(table)
    for line in gains(comparison):
        console.print(line, markup=False)
    console.print("A typical case:")
    for i, line in enumerate(example(comparison), start=1):
        console.print(f"  {i}. {line}", markup=False)
    best = comparison.pairs["synergistic"][0]
    same = comparison.pairs["redundant"][0]
    console.print(
        f"Strongest synergy: {best.first} with {best.second} ({best.synergy:.3f} bits). "
        f"Strongest redundancy: {same.first} with {same.second} ({same.redundant:.3f} bits).\n",
        markup=False,
    )


def results(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The numbers of the demonstration as JSON values."""
    values = {}
    for comparison in comparisons:
        accuracy = {}
        for name in POLICIES:
            low, high = comparison.interval(name)
            accuracy[name] = {"mean": comparison.accuracy(name).tolist(), "low": low.tolist(), "high": high.tolist()}
        values[comparison.task.title] = {
            "budgets": list(comparison.task.budgets),
            "test_cases": comparison.correct["SynAFA"].shape[1],
            "accuracy": accuracy,
            "example": example(comparison),
            "pairs": {kind: [pair.as_dict() for pair in group] for kind, group in comparison.pairs.items()},
        }
    return values


def report_page(comparisons: Sequence[Comparison]) -> str:
    """One page: for each table the accuracies, an example, the decision graph and the pairs."""
    sections = [section for comparison in comparisons for section in _sections(comparison)]
    intro = (
        "SynAFA decides, case by case, which measurement to take next, from exact pairwise information. "
        "Here it is compared with itself without the pair branch, with one fixed order for all cases, and with chance. "
        "The same predictor, trained under random masks, judges what each policy has measured; intervals are 95 %."
    )
    return page("Which measurement next?", intro, sections)


def _sections(comparison: Comparison) -> list[Section]:
    task = comparison.task
    budgets = np.asarray(task.budgets)
    curves = [Curve(name, budgets, comparison.accuracy(name), *comparison.interval(name)) for name in POLICIES]
    plot = curve_plot(curves, "budget", "accuracy", f"{task.title}: accuracy by budget")
    told = "".join(f"<li>{escape(line)}</li>" for line in example(comparison))
    verdict = "".join(f"<li>{escape(line)}</li>" for line in gains(comparison))
    table = table_html(
        header(comparison), accuracy_rows(comparison), "Accuracy in % by budget (± half a 95 % interval)"
    )
    graph = comparison.policy.decision_graph(max_depth=4, min_share=0.02)
    return [
        Section(task.title, f"{paragraphs(task.story)}{plot}{table}<ul>{verdict}</ul>"),
        Section(f"{task.title}: a typical case", f"<ol>{told}</ol>"),
        Section(
            f"{task.title}: the decision graph", zoom_pane(to_svg(graph, f"{task.title}: which measurement next?"))
        ),
        Section(f"{task.title}: pairs", _pair_plots(comparison)),
    ]


def _pair_plots(comparison: Comparison) -> str:
    plots = []
    for kind, group in comparison.pairs.items():
        parts = [
            ("synergy", [pair.synergy for pair in group]),
            ("unique to the first", [pair.unique_first for pair in group]),
            ("unique to the second", [pair.unique_second for pair in group]),
            ("redundant", [pair.redundant for pair in group]),
        ]
        names = [f"{pair.first}, {pair.second}" for pair in group]
        plots.append(bar_plot(names, parts, "bits about the class", f"{comparison.task.title}: strongest {kind} pairs"))
    return "".join(plots)
