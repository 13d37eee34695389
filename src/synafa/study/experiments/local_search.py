"""May the policy change its mind? Acquired sets revised by single swaps under the diagnostic objective T(S).

Each unit starts from the deployed policy's own sets at one budget, searches with the corrected and the uncorrected
procedure, and measures accuracy before and after under every judge. The accepted swaps' changes of T and of utility go
with it (`alignment` reports them), because they come from the same search. A setting with trained tables is searched
once for each training of its forests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synafa.report.figures import new_figure, zero_line
from synafa.report.style import COLOURS
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.comparisons import Difference, difference_over, one_run_each, share_of, values_of
from synafa.study.evidence.paper import PaperValue, find_value, paper_value
from synafa.study.evidence.tables import starred
from synafa.study.experiments import amortised, mnist, mnist_loop
from synafa.study.experiments.shared import classifier_unit, load_dataset, unit_judges
from synafa.study.experiments.swaps import swap_utilities

NAME = "local-search"
TITLE = "Non-greedy revision of the acquired sets"
VERSION = 3
COVERS = ("failure-summary", "local-search-progression", "local-search-generalization")


@dataclass(frozen=True)
class Setting:
    """Where a search runs: `paper` is the paper's name of the setting, "" where it has none."""

    name: str
    title: str
    dataset: str
    budgets: tuple[int, ...]
    paper: str


SETTINGS = (
    Setting("mnist-informative", "MNIST-loop, amortised", "mnist-loop", (5, 10, 20), "MNIST-loop"),
    Setting("mnist-amortised", "MNIST-loop, amortised, all pairs", "mnist-loop", (5, 10, 20), ""),
    Setting("mnist-exact", "MNIST-loop, exact", "mnist-loop", (5, 10, 20), ""),
    Setting("physionet", "PhysioNet, exact", "physionet", (5, 10, 15), "PhysioNet"),
    Setting("miniboone", "MiniBooNE, exact", "miniboone", (5, 10, 15), "MiniBooNE"),
    Setting("mnist-90", "MNIST-loop, 90 pixels, exact", "mnist-loop", (5, 10, 20), "MNIST-90"),
)
NINE = ("mnist-informative", "physionet", "miniboone")  # the paper's nine settings
SUBSAMPLE = 1000
FORESTS = {"mnist-informative": "informative", "mnist-amortised": "base"}  # the kind of forests behind trained tables
_BASE_SECONDS = {"mnist-90": 2.5, "physionet": 0.1, "miniboone": 40.0}
_SECONDS = {"mnist-90": 0.12, "physionet": 0.02, "miniboone": 3.0}  # for each feature of the budget


def units(settings: Settings) -> list[Unit]:
    found = []
    for setting in SETTINGS:
        if setting.dataset not in settings.datasets:
            continue
        classifiers = classifier_unit(settings, setting.dataset)
        budgets = setting.budgets[:1] if settings.quick and setting.dataset == "mnist-loop" else setting.budgets
        kind = FORESTS.get(setting.name)
        for training in amortised.trainings(settings) if kind else (0,):
            needs = (classifiers, *([amortised.forest_unit(settings, kind, training)] if kind else []))
            for budget in budgets:
                parameters = {"setting": setting.name, "dataset": setting.dataset, "budget": budget}
                parameters |= {"judges": list(settings.judges(setting.dataset))}
                parameters |= {"training": training} if kind else {}
                cost = _BASE_SECONDS.get(setting.name, 2.0) + _SECONDS.get(setting.name, 0.75) * budget
                found.append(settings.unit(NAME, __name__, VERSION, parameters, needs=needs, cost=cost))
    if "mnist-loop" in settings.datasets:
        found += mnist_loop.baseline_units(settings)  # the gap to CAE
    return found


@dataclass(frozen=True, eq=False)
class Start:
    """A search's start: `policy` over the features searched, `features` which of the dataset's they are (None: all)."""

    dataset: Any
    policy: Any
    features: np.ndarray | None

    @cached_property
    def X(self) -> np.ndarray:
        """Test rows, all features; kept, because every block of swaps reads them."""
        return self.dataset.X[self.dataset.test]

    @property
    def y(self) -> np.ndarray:
        return self.dataset.y[self.dataset.test]

    @property
    def searched(self) -> np.ndarray:
        """Test rows, only the features that may be acquired."""
        return self.X if self.features is None else self.X[:, self.features]

    def wide(self, mask: np.ndarray) -> np.ndarray:
        return mnist.widened(mask, self.features, self.dataset.n_features)


def start(name: str, quick: bool, training: int = 0) -> Start:
    """The policy and rows of a setting; `training` says which forests, where its tables are trained."""
    if name in ("physionet", "miniboone"):
        dataset = load_dataset(name, 0, quick)
        return Start(dataset, mnist.exact_policy(dataset), None)
    dataset = mnist.images(quick)
    if name == "mnist-90":
        features = mnist.pool_of(dataset)
        return Start(dataset, mnist.exact_policy(mnist.narrowed(dataset, features)), features)
    policy = mnist.exact_policy(dataset)
    if name == "mnist-informative":
        policy = mnist.with_tables(policy, mnist.deployed_tables(dataset, quick, training))
    if name == "mnist-amortised":
        policy = mnist.with_tables(policy, mnist.all_pairs_tables(dataset, quick, training))
    return Start(dataset, policy, None)


def run(unit: Unit) -> dict[str, Any]:
    from synafa.analysis.objective import local_search, set_objective

    begin = start(unit["setting"], unit.quick, unit.parameters.get("training", 0))
    judges = unit_judges(unit, begin.dataset)
    masks, _ = mnist.acquired(begin.policy, begin.searched, (unit["budget"],))
    mask, codes, tables = masks[unit["budget"]], begin.policy.codes(begin.searched), begin.policy.tables_
    right = mnist.judged(judges, begin.X, begin.wide(mask), begin.y)
    rows: list[dict[str, Any]] = []
    arrays = {"before": right.astype(np.uint8)}
    for search in ("corrected", "uncorrected"):
        found = local_search(tables, codes, mask, corrected=search == "corrected")
        after = mnist.judged(judges, begin.X, begin.wide(found.mask), begin.y)
        arrays[f"after_{search}"] = after.astype(np.uint8)
        row = {
            "search": search,
            "n": len(begin.y),
            "accuracy_before": float(right.mean()),
            "accuracy_after": float(after.mean()),
            "swaps": len(found.row),
            "rows_changed": int((found.mask != mask).any(axis=1).sum()),
            "converged": float(found.converged.mean()),
            "T_before": float(set_objective(tables, codes, mask).mean()),
            "T_after": float(set_objective(tables, codes, found.mask).mean()),
            "falling_swaps": int((found.delta < 0).sum()),
        }
        if search == "corrected":
            aligned, more = swap_utilities(unit, begin, judges.models, mask, found)
            row |= aligned
            arrays |= more
            chosen = _subsample(len(begin.y))
            T = set_objective(tables, codes, mask), set_objective(tables, codes, found.mask)
            arrays |= {"T_before": T[0], "T_after": T[1], "subsample": chosen}
        rows.append(row)
    return {"rows": rows, "arrays": arrays}


def _subsample(n: int) -> np.ndarray:
    """The paper's first diagnostic used 1,000 random test rows; its seed is not known."""
    return np.sort(np.random.default_rng(0).choice(n, min(SUBSAMPLE, n), replace=False))


def stacked(results: Results, setting: str, budget: int, name: str) -> np.ndarray | None:
    """A stored array of every search of this setting, float64 (judges, searches, n); None where one lacks it."""
    found = results.where(setting=setting, budget=budget)
    if not found or any(name not in one.arrays for one in found):
        return None
    return np.stack([np.atleast_2d(one.arrays[name]) for one in found], axis=1).astype(np.float64)


def change(results: Results, setting: str, budget: int, search: str = "corrected") -> Difference | None:
    """Accuracy revised minus adaptive, over judges and trainings of the forests, or None."""
    before, after = (stacked(results, setting, budget, name) for name in ("before", f"after_{search}"))
    return None if before is None or after is None else difference_over(after - before)


def aligned(results: Results, setting: str, budget: int, name: str) -> Difference | None:
    """A figure of the accepted swaps (`swaps.FIGURES`), over judges and trainings of the forests, or None."""
    values = stacked(results, setting, budget, f"aligned_{name}")
    return None if values is None or not np.isfinite(values).all() else difference_over(values)


def present(results: Results) -> list[Setting]:
    """Settings worth a row: those the paper has, and those that were run."""
    return [s for s in SETTINGS if s.paper or results.where(setting=s.name)]


def tables(results: Results) -> list[ReportTable | PlainTable]:
    return [_failure(results), _generalisation(results), _progression(results), _searches(results)]


def _failure(results: Results) -> ReportTable:
    rows = []
    for setting in SETTINGS:
        if setting.name not in NINE:
            continue
        for budget in setting.budgets:
            where, labels = (setting.paper, budget), (setting.title, str(budget))
            found = change(results, setting.name, budget)
            paper = paper_value("failure-summary", where, "dAcc")
            if found is None:
                rows.append(ReportRow((*labels, "change of accuracy"), None, paper))
            else:
                numbers = (found.value, found.low, found.high, found.p)
                rows.append(ReportRow.tested((*labels, "change of accuracy"), *numbers, paper, spread=found.spread))
            for shown, column, name in (("mean change of utility", "mean dU", "dU"), ("rho(dT, dU)", "rho", "rho")):
                paper = paper_value("failure-summary", where, column)
                rows.append(figure_row((*labels, shown), aligned(results, setting.name, budget, name), paper))
    note = (
        "Utility is the shared classifier's probability of the true class; means over judges and trainings of the "
        "forests, intervals over test rows, judges and trainings."
    )
    return ReportTable("Revision under T(S)", "failure-summary", ("setting", "budget", "figure"), rows, note)


def figure_row(labels: tuple[str, ...], found: Difference | None, paper: PaperValue | None, **more: Any) -> ReportRow:
    """A mean with its interval and spread, which is not tested; `more` as of `ReportRow`."""
    if found is None:
        return ReportRow(labels, None, paper, **more)
    return ReportRow(labels, found.value, paper, found.low, found.high, spread=found.spread, **more)


def _generalisation(results: Results) -> ReportTable:
    rows = []
    for setting in present(results):
        for budget in setting.budgets:
            paper = find_value("local-search-generalization", (setting.paper, budget), "dAcc")
            found, labels = change(results, setting.name, budget), (setting.title, str(budget), "change of accuracy")
            where = (setting.paper, budget)
            also = [find_value("local-search-generalization", where, column) for column in ("low", "high", "p")]
            beside = tuple(value for value in also if value is not None)
            if found is None:
                rows.append(ReportRow(labels, None, paper, beside=beside))
            else:
                numbers = (found.value, found.low, found.high, found.p)
                rows.append(ReportRow.tested(labels, *numbers, paper, spread=found.spread, beside=beside))
            n = results.value("n", setting=setting.name, budget=budget, search="corrected")
            paper = find_value("local-search-generalization", (setting.paper, budget), "n")
            rows.append(ReportRow((setting.title, str(budget), "test rows"), n, paper, deterministic=True, digits=0))
    note = (
        "10,000 paired-bootstrap resamples. Exact tables at D = 784 are ours; the paper has none. It does not say "
        "among which pairs its forests learned: among informative pixels here; all pairs have rows of their own."
    )
    return ReportTable(
        "Revised minus adaptive accuracy", "local-search-generalization", ("setting", "budget", "figure"), rows, note
    )


def _progression(results: Results) -> ReportTable:
    """Budget 20 on MNIST-loop: accuracies, share of the gap to CAE, and T."""
    where = ("mnist-informative", 20)
    before, after, T_before, T_after = (
        stacked(results, *where, name) for name in ("before", "after_corrected", "T_before", "T_after")
    )
    cae = values_of(results, "cae", 20, dataset="mnist-loop")
    first = results.one(setting=where[0], budget=where[1], training=0)
    rows = []
    for label in ("1000", "12000"):
        part = slice(None) if first is None or label == "12000" else first.arrays["subsample"]
        note = "a subsample of our own; the paper's is not known" if label == "1000" else ""
        for column, values in (("adaptive", before), ("revised", after)):
            found = None if values is None else share_of(values[..., part])
            paper = paper_value("local-search-progression", label, column)
            rows.append(figure_row((f"{int(label):,} rows", column), found, paper, note=note))
        shares = _closed(before, after, None if cae is None else cae[1], part)
        T = [[] if values is None else values[0][:, part].mean(axis=1) for values in (T_before, T_after)]
        for column, runs in (("CAE gap closed percent", shares), ("T before", T[0]), ("T after", T[1])):
            paper = paper_value("local-search-progression", label, column)
            rows.append(ReportRow.repeated((f"{int(label):,} rows", column), runs, paper, note=note))
    return ReportTable(
        "MNIST-loop at D = 784, budget 20",
        "local-search-progression",
        ("rows", "figure"),
        rows,
        "T and the closed share: means over trainings of the forests, the share over judges and trainings of CAE too.",
    )


def _closed(before: np.ndarray | None, after: np.ndarray | None, cae: np.ndarray | None, part: Any) -> np.ndarray:
    """Percent of the gap to CAE that the search closes: one value a judge, forest and training of CAE together."""
    if before is None or after is None or cae is None:
        return np.empty(0)
    start, end, goal = (one_run_each(values[..., part].mean(axis=2)) for values in (before, after, cae))
    count = min(len(start), len(end), len(goal))
    start, end, goal = start[:count], end[:count], goal[:count]
    return np.asarray(100 * (end - start) / (goal - start))


def _searches(results: Results) -> PlainTable:
    rows: list[tuple[Any, ...]] = []
    gaps = []
    for setting in SETTINGS:
        for budget in setting.budgets:
            for search in ("corrected", "uncorrected"):
                found = results.select(setting=setting.name, budget=budget, search=search)
                gap = change(results, setting.name, budget, search)
                if not found or gap is None:
                    continue
                gaps.append(gap)
                names = ("swaps", "falling_swaps", "converged", "T_before", "T_after")
                mean = {name: float(np.mean([row[name] for row in found])) for name in names}
                swaps = (f"{mean['swaps']:,.0f}", f"{mean['falling_swaps']:,.0f}", f"{100 * mean['converged']:.1f} %")
                rows.append((setting.title, budget, search, *swaps, mean["T_before"], mean["T_after"]))
    shown = starred([gap.value for gap in gaps], [gap.p for gap in gaps], digits=4)
    rows = [(*row, text) for row, text in zip(rows, shown)]
    return PlainTable(
        "Corrected and uncorrected search",
        "local-search-both",
        (
            "setting",
            "budget",
            "search",
            "swaps",
            "swaps that lowered T",
            "converged",
            "T before",
            "T after",
            "accuracy",
        ),
        rows,
        note="Means over trainings of the forests. "
        "The uncorrected search judges both sides of a swap by the unchanged set, so that T may fall. "
        "Not converged: still swapping after 200 rounds.",
        digits=3,
    )


def figures(results: Results) -> list[Figure]:
    settings = [s for s in SETTINGS if results.where(setting=s.name) and s.dataset == "mnist-loop"]
    if not settings:
        return []
    figure, (left, right) = new_figure(columns=2, width=4.0, height=3.0)
    colours = {"mnist-informative": "blue", "mnist-amortised": "sky", "mnist-exact": "green", "mnist-90": "vermillion"}
    budgets = [b for b in (5, 10, 20) if any(results.where(setting=s.name, budget=b) for s in settings)]
    width = 0.8 / len(settings)
    last = budgets[-1]
    for index, setting in enumerate(settings):
        colour = COLOURS[colours[setting.name]]
        rows = [results.select(setting=setting.name, budget=last, search="corrected")]
        if rows[0]:
            values = [np.mean([row[f"accuracy_{when}"] for row in rows[0]]) for when in ("before", "after")]
            left.bar([index - 0.2, index + 0.2], values, 0.36, color=[colour + "66", colour])
            for x, value in zip((index - 0.2, index + 0.2), values):
                left.text(x, value, f"{value:.3f}", ha="center", va="bottom", fontsize=7)
        for place, budget in enumerate(budgets):
            found = change(results, setting.name, budget)
            if found is not None:
                x = place + (index - (len(settings) - 1) / 2) * width
                right.bar(x, found.value, 0.9 * width, color=colour, label=setting.title if place == 0 else None)
                error = [[found.value - found.low], [found.high - found.value]]
                right.errorbar(x, found.value, yerr=error, fmt="none", ecolor="black", capsize=2, lw=1)
    left.set_xticks(range(len(settings)), [s.title.replace(", ", ",\n") for s in settings], fontsize=7)
    left.set(ylabel="test accuracy", ylim=(0.5, 1.0))
    left.set_title(f"a  Before (pale) and after search, budget {last}")
    right.set_xticks(range(len(budgets)), [str(b) for b in budgets])
    right.set(xlabel="budget, pixels", ylabel="revised minus adaptive accuracy")
    right.set_title("b  What the search changes")
    zero_line(right)
    right.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    for axes in (left, right):
        axes.grid(axis="x", visible=False)
    caption = (
        "The same search on amortised tables (D = 784) whose forests learned from pairs of informative pixels or from "
        "all pairs, on exact tables of the same 784 pixels, which the paper does not have, and on exact "
        "tables of 90 pixels. The first three differ in the estimator alone. 95 % intervals of the paired bootstrap."
    )
    return [Figure("exact-vs-amortized", "Local search on exact and amortised tables", caption, figure)]


def headline(results: Results) -> list[Headline]:
    """Does a search ever help? Every reading of the same settings counts: the paper's own, all pairs, exact tables."""
    readings = {
        "PhysioNet and MNIST-loop as the study reads them": [
            (s.name, b) for s in SETTINGS if s.name in NINE and s.name != "miniboone" for b in s.budgets
        ],
        "MNIST-loop with forests that learn from all pairs": [("mnist-amortised", b) for b in (5, 10, 20)],
        "MNIST-loop with exact tables of all 784 pixels": [("mnist-exact", b) for b in (5, 10, 20)],
    }
    told, gains, losses = [], {}, {}
    for words, cases in readings.items():
        done = [d for d in (change(results, name, budget) for name, budget in cases) if d is not None]
        if len(done) == len(cases):
            gains[words] = sum(d.outcome == "win" for d in done)
            losses[words] = sum(d.outcome == "loss" for d in done)
            told.append(f"{words}: {gains[words]} and {losses[words]} of {len(done)}")
    if not told or next(iter(readings)) not in gains:
        return []
    lines = [
        Headline(
            f"Local search, significant gains and losses of accuracy. {'; '.join(told)} (paper: 0 and 4 of 6).",
            held=held_on_all_readings(gains, losses),
            rank=3,
        )
    ]
    for name, what, rank in (
        ("mnist-amortised", "forests that learn from all pairs", 4),
        ("mnist-exact", "exact tables of all 784 pixels", 5),
    ):
        other = [d for d in (change(results, name, b) for b in (5, 10, 20)) if d is not None]
        if len(other) == 3:
            shown = ", ".join(starred([d.value for d in other], [d.p for d in other]))
            lines.append(Headline(f"With {what} the search changes accuracy by {shown} (5, 10, 20).", rank=rank))
    return lines


def held_on_all_readings(gains: dict[str, int], losses: dict[str, int]) -> bool:
    """The claim that revision does not help and mostly harms: no gain anywhere, a loss in the study's own reading."""
    return not any(gains.values()) and next(iter(losses.values())) > 0
