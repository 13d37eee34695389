"""The pair-branch ablation: SynAFA without proposals of unstarted pairs, on both sweeps and on the real tables.

All units are those of the other experiments, plus the policy without its pair branch.
"""

from __future__ import annotations

from synafa.datasets.synthetic import ALPHAS, FIXED_V_WEIGHTS
from synafa.report.figures import new_figure, zero_line
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.names import BUDGETS, TITLES
from synafa.study.evidence.paper import paper_value
from synafa.study.evidence.tables import Figure, Headline, ReportRow, ReportTable
from synafa.study.experiments.benchmark import outcomes, outcomes_of_runs, real_units
from synafa.study.experiments.shared import EIGHT, THREE, VERSION, accuracy, compare, difference_over, values_of
from synafa.study.experiments.shared import run_policy_unit as run
from synafa.study.experiments.sweeps import (
    Interval,
    Sweep,
    alpha_sweep,
    difference_row,
    draw,
    fixed_v_sweep,
    interval_row,
    legend_below,
)

__all__ = ["COVERS", "NAME", "TITLE", "VERSION", "figures", "headline", "run", "tables", "units"]

NAME = "pair-branch"
TITLE = "Pair-branch ablation: without proposals of unstarted pairs"
COVERS = ("pair-off-alpha", "pair-off-fixedv", "pair-off-real", "appendix-pair-off")
METHODS = {"deployed": "synafa", "off": "synafa-no-pairs"}


def units(settings: Settings) -> list[Unit]:
    methods = (*METHODS.values(), *THREE)
    sweeps = [
        unit for sweep in (alpha_sweep(settings), fixed_v_sweep(settings)) for unit in sweep.units(settings, methods)
    ]
    return [*sweeps, *real_units(settings, (*METHODS.values(), *EIGHT))]


def tables(results: Results) -> list[ReportTable]:
    return [_alpha(results), _fixed_v(results), _real(results), _text(results)]


def _effect(
    results: Results, sweep: Sweep, level: float, labels: tuple[str, ...], label: str, row: float, column: str
) -> ReportRow:
    found = sweep.pooled(results, "synafa", "synafa-no-pairs", level, 8) if level in sweep.levels else None
    return difference_row(labels, found, paper_value(label, row, column))


def _alpha(results: Results) -> ReportTable:
    sweep = alpha_sweep(results.settings)
    rows = []
    for alpha in ALPHAS:
        for budget in (3, 5, 8):
            for name, method in METHODS.items():
                printed = paper_value("pair-off-alpha", alpha, f"{budget} {name}")
                found = sweep.mean(results, method, alpha, budget)
                rows.append(interval_row((f"{alpha:g}", f"{budget}", name), found, printed))
        rows.append(_effect(results, sweep, alpha, (f"{alpha:g}", "8", "effect"), "pair-off-alpha", alpha, "8 effect"))
    for budget in (3, 5, 8):
        for name, method in METHODS.items():
            printed = paper_value("pair-off-alpha", "corr", f"{budget} {name}")
            found = sweep.correlation(results, method, budget)
            rows.append(interval_row(("correlation", f"{budget}", name), found, printed))
    note = (
        "Mean advantage (Student's interval over instances); effect: accuracy deployed minus off over "
        "the test rows of all instances and seeds."
    )
    return ReportTable(
        "Alpha sweep with and without the branch", "pair-off-alpha", ("alpha", "budget", "policy"), rows, note
    )


def _fixed_v(results: Results) -> ReportTable:
    sweep = fixed_v_sweep(results.settings)
    rows = []
    for fraction in FIXED_V_WEIGHTS:
        realised = paper_value("fixed-v-calibration", fraction, "Syn/V").value or 0.0
        for name, method in METHODS.items():
            printed = paper_value("pair-off-fixedv", realised, name)
            rows.append(interval_row((f"{realised:g}", name), sweep.mean(results, method, fraction, 8), printed))
        rows.append(
            _effect(results, sweep, fraction, (f"{realised:g}", "effect"), "pair-off-fixedv", realised, "effect")
        )
    for name, method in METHODS.items():
        printed = paper_value("pair-off-fixedv", "corr", name)
        rows.append(interval_row(("correlation", name), sweep.correlation(results, method, 8), printed))
    return ReportTable("Fixed-V sweep with and without the branch", "pair-off-fixedv", ("Syn/V", "policy"), rows)


def _real(results: Results) -> ReportTable:
    rows = []
    for dataset, budgets in BUDGETS.items():
        for budget in budgets:
            labels, row = (TITLES[dataset], f"{budget}"), (TITLES[dataset], budget)
            for name, method in METHODS.items():
                found = _accuracy(results, method, dataset, budget)
                rows.append(interval_row((*labels, f"accuracy {name}"), found, paper_value("pair-off-real", row, name)))
            effect = compare(results, "synafa", "synafa-no-pairs", budget, dataset=dataset)
            rows.append(difference_row((*labels, "effect"), effect, paper_value("pair-off-real", row, "effect")))
            for name, method in METHODS.items():
                counts = outcomes(results, dataset, budget, method) or {}
                told = outcomes_of_runs(results, dataset, budget, method) or {}
                for what in ("wins", "ties", "losses"):
                    printed = paper_value("pair-off-real", row, f"{what} {name}")
                    label = (*labels, f"{what} {name}")
                    rows.append(ReportRow(label, counts.get(what), printed, spread=told.get(what)))
    note = (
        "Accuracy over test rows and judges. Wins, ties, losses against eight baselines at p < 0.05, unadjusted, over "
        "all seeds; their spread: the least and most that one judge alone would have counted."
    )
    return ReportTable(
        "Real tables with and without the branch", "pair-off-real", ("dataset", "budget", "number"), rows, note
    )


def _accuracy(results: Results, method: str, dataset: str, budget: float) -> Interval:
    """Accuracy over test rows and judges."""
    found = values_of(results, method, budget, dataset=dataset)
    if found is None:
        return Interval(None)
    share = difference_over(found[1])
    return Interval(share.value, max(share.low, 0.0), min(share.high, 1.0), share.spread)


def _text(results: Results) -> ReportTable:
    alpha, fixed = alpha_sweep(results.settings), fixed_v_sweep(results.settings)
    values = [
        (
            accuracy(results, "synafa", b, dataset="physionet"),
            accuracy(results, "synafa-no-pairs", b, dataset="physionet"),
        )
        for b in BUDGETS["physionet"]
    ]
    moved = [abs(a - b) for a, b in values if a is not None and b is not None]
    rows = [
        interval_row(
            ("alpha sweep, budget 8, off: correlation",),
            alpha.correlation(results, "synafa-no-pairs", 8),
            paper_value("appendix-pair-off", "8 off correlation", "value"),
        ),
        interval_row(
            ("fixed-V, off: correlation",),
            fixed.correlation(results, "synafa-no-pairs", 8),
            paper_value("appendix-pair-off", "fixed-V off correlation", "value"),
        ),
        ReportRow(
            ("PhysioNet: largest change of accuracy",),
            max(moved) if len(moved) == len(values) else None,
            paper_value("appendix-pair-off", "PhysioNet largest accuracy change", "value"),
        ),
    ]
    return ReportTable("Numbers of the text", "appendix-pair-off", ("number",), rows)


def figures(results: Results) -> list[Figure]:
    figure, panels = new_figure(columns=2, width=3.7, height=2.9)
    drawn = False
    sweeps = (alpha_sweep(results.settings), fixed_v_sweep(results.settings))
    for axes, sweep, word in zip(panels, sweeps, ("alpha", "realised Syn/V")):
        for index, (name, method) in enumerate(METHODS.items()):
            found = [sweep.mean(results, method, level, 8) for level in sweep.levels]
            if any(one.value is None for one in found):
                continue
            drawn = True
            draw(axes, sweep.positions, found, f"pair branch {'on' if index == 0 else name}", index, band=True)
        zero_line(axes)
        axes.set(xlabel=word, ylabel="accuracy advantage", title=f"{sweep.dataset}, budget 8")
        legend_below(axes)
    caption = "Mean advantage with and without proposals of unstarted pairs; bands: 95 % over instances."
    return [Figure("pair-branch", "The pair branch", caption, figure)] if drawn else []


def headline(results: Results) -> list[Headline]:
    sweep, said = alpha_sweep(results.settings), []
    on, off = (sweep.correlation(results, method, 8).value for method in METHODS.values())
    if on is not None and off is not None:
        text = (
            f"Without the pair branch the budget-8 trend of the alpha sweep is {off:+.2f} (paper -0.80), "
            f"with it {on:+.2f}: {'it reverses' if on > 0 > off else 'it does not reverse'}."
        )
        said.append(Headline(text, held=on > 0 > off, rank=2))
    effects = [compare(results, "synafa", "synafa-no-pairs", b, dataset="physionet") for b in BUDGETS["physionet"]]
    there = [found.value for found in effects if found is not None]
    if len(there) == len(effects):
        largest = max(abs(value) for value in there)
        text = f"On PhysioNet the pair branch changes accuracy by at most {largest:.4f} (paper 0.002)."
        said.append(Headline(text, held=largest < 0.0025, rank=6))
    return said
