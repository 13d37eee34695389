"""May the policy change its mind? Acquired sets revised by single swaps under the diagnostic objective T(S).

Each unit starts from the deployed policy's own sets at one budget, searches with the corrected and the uncorrected
procedure, and measures accuracy before and after. The accepted swaps' changes of T and of utility go with it
(`alignment` reports them), because they come from the same search.
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
from synafa.study.evidence.comparisons import array, difference_of
from synafa.study.evidence.paper import find_value, paper_value
from synafa.study.evidence.tables import starred
from synafa.study.experiments import amortised, mnist, mnist_loop
from synafa.study.experiments.shared import classifier_unit, load_dataset, unit_judges
from synafa.study.experiments.swaps import swap_utilities

NAME = "local-search"
TITLE = "Non-greedy revision of the acquired sets"
VERSION = 2
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
GROUPS = {"mnist-informative": "informative", "mnist-amortised": "base"}  # the forests behind amortised tables
_BASE_SECONDS = {"physionet": 0.5, "miniboone": 40.0}
_SECONDS = {"mnist-90": 0.1, "physionet": 0.1, "miniboone": 3.0}  # for each feature of the budget


def units(settings: Settings) -> list[Unit]:
    found = []
    for setting in SETTINGS:
        if setting.dataset not in settings.datasets:
            continue
        needs = [classifier_unit(settings, setting.dataset)]
        if setting.name in GROUPS:
            needs.append(amortised.group_unit(settings, GROUPS[setting.name]))
        budgets = setting.budgets[:1] if settings.quick and setting.dataset == "mnist-loop" else setting.budgets
        for budget in budgets:
            found.append(
                settings.unit(
                    NAME,
                    __name__,
                    VERSION,
                    {
                        "setting": setting.name,
                        "dataset": setting.dataset,
                        "budget": budget,
                        "judges": list(settings.judges(setting.dataset)),
                    },
                    needs=tuple(needs),
                    cost=_BASE_SECONDS.get(setting.name, 6.0) + _SECONDS.get(setting.name, 0.5) * budget,
                )
            )
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


def start(name: str, quick: bool) -> Start:
    """The policy and rows of a setting."""
    if name in ("physionet", "miniboone"):
        dataset = load_dataset(name, 0, quick)
        return Start(dataset, mnist.exact_policy(dataset), None)
    dataset = mnist.images(quick)
    if name == "mnist-90":
        features = mnist.pool_of(dataset)
        return Start(dataset, mnist.exact_policy(mnist.narrowed(dataset, features)), features)
    policy = mnist.exact_policy(dataset)
    if name == "mnist-informative":
        policy = mnist.with_tables(policy, mnist.deployed_tables(dataset, quick))
    if name == "mnist-amortised":
        policy = mnist.with_tables(policy, mnist.all_pairs_tables(dataset, quick))
    return Start(dataset, policy, None)


def run(unit: Unit) -> dict[str, Any]:
    from synafa.analysis.objective import local_search, set_objective

    begin = start(unit["setting"], unit.quick)
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
            aligned, more = swap_utilities(unit, begin, judges.models[0], mask, found)
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


def change(results: Results, setting: str, budget: int, search: str = "corrected") -> Any:
    """Accuracy revised minus adaptive, or None."""
    found = results.one(setting=setting, budget=budget)
    return None if found is None else difference_of([found.arrays[f"after_{search}"]], [found.arrays["before"]])


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
            row = (results.select(setting=setting.name, budget=budget, search="corrected") or [{}])[0]
            for shown, column, name in (("mean change of utility", "mean dU", "dU"), ("rho(dT, dU)", "rho", "rho")):
                paper = paper_value("failure-summary", where, column)
                low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
                rows.append(ReportRow((*labels, shown), row.get(name), paper, low, high))
    note = "Utility is the shared classifier's probability of the true class; intervals resample test rows."
    return ReportTable("Revision under T(S)", "failure-summary", ("setting", "budget", "figure"), rows, note)


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
    from synafa.stats import normal_interval

    found = results.one(setting="mnist-informative", budget=20)
    cae = array(results, "correct", "cae", 20, dataset="mnist-loop")
    columns = ("adaptive", "revised", "CAE gap closed percent", "T before", "T after")
    rows = []
    for label in ("1000", "12000"):
        figures_ = dict.fromkeys(columns) if found is None else _progress(found.arrays, cae, label == "1000")
        for column in columns:
            paper = paper_value("local-search-progression", label, column)
            low, high = None, None
            value = figures_[column]
            if column in ("adaptive", "revised") and value is not None:
                low, high = normal_interval(value, int(label))
            note = "a subsample of our own; the paper's is not known" if label == "1000" else ""
            rows.append(ReportRow((f"{int(label):,} rows", column), value, paper, low, high, note=note))
    return ReportTable("MNIST-loop at D = 784, budget 20", "local-search-progression", ("rows", "figure"), rows)


def _progress(arrays: dict[str, np.ndarray], cae: np.ndarray | None, part: bool) -> dict[str, float | None]:
    rows = arrays["subsample"] if part else slice(None)
    before, after = (float(np.atleast_2d(arrays[name])[:, rows].mean()) for name in ("before", "after_corrected"))
    closed = None
    if cae is not None and float(cae[rows].mean()) != before:
        closed = 100 * (after - before) / (float(cae[rows].mean()) - before)
    return {
        "adaptive": before,
        "revised": after,
        "CAE gap closed percent": closed,
        "T before": float(arrays["T_before"][rows].mean()),
        "T after": float(arrays["T_after"][rows].mean()),
    }


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
                row = found[0]
                gaps.append(gap)
                swaps = (f"{row['swaps']:,}", f"{row['falling_swaps']:,}", f"{100 * row['converged']:.1f} %")
                rows.append((setting.title, budget, search, *swaps, row["T_before"], row["T_after"]))
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
        note="The uncorrected search judges both sides of a swap by the unchanged set, so that T may fall. "
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
            values = [rows[0][0]["accuracy_before"], rows[0][0]["accuracy_after"]]
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
        other = [change(results, name, b) for b in (5, 10, 20)]
        if all(d is not None for d in other):
            shown = ", ".join(starred([d.value for d in other], [d.p for d in other]))
            lines.append(Headline(f"With {what} the search changes accuracy by {shown} (5, 10, 20).", rank=rank))
    return lines


def held_on_all_readings(gains: dict[str, int], losses: dict[str, int]) -> bool:
    """The claim that revision does not help and mostly harms: no gain anywhere, a loss in the study's own reading."""
    return not any(gains.values()) and next(iter(losses.values())) > 0
