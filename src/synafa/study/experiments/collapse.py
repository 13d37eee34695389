"""Why does the policy acquire the same features for everyone on MiniBooNE, and is that why it loses?

Distinct acquired sets, one decision under all realised values, and the paper's alternative explanations: synergy of
triples, information lost by binarisation, training size, and a classifier that never saw the policies' masks.
On MiniBooNE when its file is present, and on the other tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.files import content_hash
from synafa.report.figures import new_figure, zero_line
from synafa.report.style import COLOURS
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.comparisons import difference_of
from synafa.study.evidence.names import BUDGETS, NAMES, TITLES
from synafa.study.evidence.paper import PaperValue, find_value, paper_value
from synafa.study.evidence.tables import starred
from synafa.study.experiments.branching import branching, prefixes
from synafa.study.experiments.mnist import acquired, probabilities
from synafa.study.experiments.shared import (
    THREE,
    classifier_unit,
    fit_synafa,
    policy_unit,
    policy_units,
    repetitions,
    unit_classifier,
    unit_dataset,
    unit_evaluation,
)

NAME = "collapse"
TITLE = "Acquisition collapse and its alternative explanations"
VERSION = 2
COVERS = ("miniboone-hypotheses", "miniboone-classifier-realignment", "appendix-collapse")

REALIGNED = ("ckd", "actg175", "physionet", "miniboone")
SIZES = {"miniboone": (300, 1500, 8000, 30000, 78038), "physionet": (300, 1500, 3000, 7200)}
METHODS = ("synafa", *THREE)
_DECISION = 6  # the paper enumerates the sixth decision of budget 10
_SWEEP_BUDGET = 10
_ALIGNED_JUDGES = 5
_ALIGNED_SECONDS = {"ckd": 0.2, "actg175": 1.8, "physionet": 8.0}  # each judge's
_MARGINS = ("smallest margin", "among singles", "best pair", "lowest best single")
_INTERVAL = "95 % interval"
_ELSEWHERE = "MiniBooNE's file is not here; this is PhysioNet"


def swept(settings: Settings) -> str:
    """The dataset of the training-size sweep."""
    return "miniboone" if settings.miniboone else "physionet"


def units(settings: Settings) -> list[Unit]:
    found = [_unit(settings, name, {"part": "sets"}, 0.5) for name in settings.tabular]
    if swept(settings) in settings.datasets:
        name = swept(settings)
        sizes = (120, 360) if settings.quick else SIZES[name]
        judges = list(settings.judges(name))
        for size in sizes:
            parameters = {"part": "size", "size": size, "judges": judges}
            found.append(_unit(settings, name, parameters, 1.5 * len(judges)))
    realigned = ("ckd",) if settings.quick else REALIGNED
    for name in realigned:
        if name in settings.datasets:
            judges = list(settings.judges(name))[:_ALIGNED_JUDGES]
            runs = {m: min(len(judges), repetitions(settings, name, m)) for m in THREE}
            needs = [u for m in THREE for u in policy_units(settings, name, 0, m, BUDGETS[name], runs[m])]
            of = content_hash([need.key for need in needs])  # a policy trained anew makes other masks
            parameters = {"part": "realigned", "of": of, "judges": judges, "runs": runs}
            seconds = _ALIGNED_SECONDS.get(name, 20.0) * len(judges)
            found.append(_unit(settings, name, parameters, seconds, tuple(needs)))
    return found


def _unit(
    settings: Settings, dataset: str, parameters: dict[str, Any], cost: float, needs: tuple[Unit, ...] = ()
) -> Unit:
    needs = (classifier_unit(settings, dataset), *needs)
    return settings.unit(NAME, __name__, VERSION, {"dataset": dataset, **parameters}, needs=needs, cost=cost)


def run(unit: Unit) -> dict[str, Any]:
    return {"sets": _sets, "size": _size, "realigned": _realigned}[unit["part"]](unit)


def _sets(unit: Unit) -> dict[str, Any]:
    """Distinct sets, the branching decision, Synergy3 and retained information of one dataset."""
    from synafa.analysis.retained import retained_information
    from synafa.analysis.triples import synergy3

    dataset = unit_dataset(unit)
    policy = fit_synafa("synafa", dataset)
    budgets = BUDGETS[unit["dataset"]]
    masks, done = acquired(policy, dataset.X[dataset.test], budgets)
    rows: list[dict[str, Any]] = []
    for budget, mask in masks.items():
        _, counts = np.unique(np.packbits(mask, axis=1), axis=0, return_counts=True)
        majority = float(counts.max() / counts.sum())
        rows.append({"kind": "sets", "budget": budget, "n": len(mask), "sets": len(counts), "majority": majority})
    decision = min(_DECISION, budgets[1])
    for prefix, count in prefixes(done.order, decision - 1):
        at = branching(policy.rule_, prefix)
        rows.append(
            {
                "kind": "branching",
                "decision": decision,
                "prefix": " ".join(dataset.feature_names[j] for j in prefix),
                "rows": count,
                "combinations": at.combinations,
                "winners": len(at.winners),
                "single_winners": len(at.single_winners),
                "margin": at.margin,
                "single_margin": at.single_margin,
                "pair_score": at.pair_score,
                "single_score": at.single_score,
            }
        )
    three = synergy3(policy.codes_, policy.y_)
    kept = retained_information(dataset.X[dataset.train], dataset.y[dataset.train])
    rows.append(
        {
            "kind": "hypotheses",
            "synergy3_mean": three.mean,
            "synergy3_p90": three.p90,
            "synergy3_max": three.maximum,
            "retained": 100 * kept.fraction,
            "largest_single": float(policy.tables_.single.max()),
        }
    )
    return {"rows": rows}


def _size(unit: Unit) -> dict[str, Any]:
    """SynAFA and a draw of AACO a judge on the first `size` training rows; judges stay those of all rows."""
    from synafa.baselines import train
    from synafa.evaluation import run_policy

    dataset, judges = unit_dataset(unit), unit["judges"]
    part = replace(dataset, train=dataset.train[: unit["size"]])
    X, y = dataset.X[dataset.test], dataset.y[dataset.test]
    own, _ = acquired(fit_synafa("synafa", part), X, (_SWEEP_BUDGET,))
    cells: dict[str, list[np.ndarray]] = {"synafa": [], "aaco": []}
    for draw, judge in enumerate(judges):
        classifier = unit_classifier(unit, judge)
        seed = unit.seed + draw
        aaco = train("aaco", part, _SWEEP_BUDGET, classifier, profile=unit.profile, seed=seed, faithful=True)
        other = run_policy(aaco, part, "test", _SWEEP_BUDGET).mask
        for name, mask in (("synafa", own[_SWEEP_BUDGET]), ("aaco", other)):
            cells[name].append(probabilities(classifier, X, mask).argmax(axis=1) == y)
    right = {name: np.stack(found).astype(np.uint8) for name, found in cells.items()}
    row = {"training_rows": len(part.train), **{name: float(correct.mean()) for name, correct in right.items()}}
    return {"rows": [row], "arrays": right}


def _realigned(unit: Unit) -> dict[str, Any]:
    """Each judge trained again on masks that the four policies make of training rows; trajectories stay fixed.

    Judge j is trained on the masks of the policies' training j, taken in turn where there are fewer; a draw of AACO has
    asked that very judge.
    """
    from synafa.neural.masked_mlp import MaskedMLP

    dataset = unit_dataset(unit)
    X, y = dataset.X[dataset.test], dataset.y[dataset.test]
    rows: list[dict[str, Any]] = []
    cells: dict[str, list[np.ndarray]] = {}
    for place, judge in enumerate(unit["judges"]):
        classifier = unit_classifier(unit, judge)
        bank, test = _trajectories(unit, dataset, classifier, place)
        aligned = MaskedMLP.fit(dataset, classifier.config, seed=judge, profile=unit.profile, mask_bank=bank)
        for (method, budget), mask in test.items():
            row: dict[str, Any] = {"method": method, "budget": budget, "judge": judge, "bank": len(bank)}
            row["sets"] = len(np.unique(np.packbits(mask, axis=1), axis=0))
            for name, model in (("original", classifier), ("aligned", aligned)):
                correct = probabilities(model, X, mask).argmax(axis=1) == y
                row[name] = float(correct.mean())
                cells.setdefault(f"{name}/{method}_{budget}", []).append(correct)
            rows.append(row)
    return {"rows": rows, "arrays": {name: np.stack(found).astype(np.uint8) for name, found in cells.items()}}


def _trajectories(
    unit: Unit, dataset: Dataset, classifier: Any, place: int
) -> tuple[np.ndarray, dict[tuple[str, int], np.ndarray]]:
    """What the four policies of one training acquire: masks of training rows, and of test rows by method and budget."""
    budgets = BUDGETS[unit["dataset"]]
    most = {"paper": 8000, "standard": 2000, "quick": 100}[unit.profile]
    settings = Settings(unit.profile, unit.seed)
    bank, test = [], {}
    for method in METHODS:
        training = place % unit["runs"].get(method, 1)
        policy = policy_unit(settings, unit["dataset"], 0, method, budgets, training)
        evaluation = unit_evaluation(policy, dataset, classifier)
        bank += [done.mask for done in evaluation.runs(method, dataset.train[:most]).values()]
        for budget, done in evaluation.runs(method).items():
            test[method, int(budget)] = done.mask
    return np.concatenate(bank), test


def tables(results: Results) -> list[ReportTable | PlainTable]:
    return [
        _collapse_table(results),
        _sets_table(results),
        _branching_table(results),
        _hypotheses(results),
        _size_table(results),
        *_realigned_tables(results),
    ]


def _collapse_table(results: Results) -> ReportTable:
    def paper(name: str) -> PaperValue:
        return paper_value("appendix-collapse", name, "value")

    rows = []
    cases = [("ckd", 4), ("actg175", 5), ("bank", 4), ("physionet", 10)]
    cases += [("miniboone", budget) for budget in (5, 10, 15)]
    for dataset, budget in cases:
        here = results.value("sets", kind="sets", dataset=dataset, budget=budget)
        name = f"distinct sets / {TITLES[dataset]} / {budget}"
        rows.append(ReportRow((f"distinct sets, {TITLES[dataset]}, {budget}",), here, paper(name), deterministic=True))
    shares = [results.value("majority", kind="sets", dataset=d, budget=b) for d, b in cases[:4]]
    known = [100 * share for share in shares if share is not None]
    for side, pick in (("low", min), ("high", max)):
        here = pick(known) if len(known) == 4 else None
        rows.append(
            ReportRow(
                (f"share of the commonest set, {side}, percent",),
                here,
                paper(f"majority pattern percent {side}"),
                deterministic=True,
            )
        )
    for dataset in ("physionet", "miniboone"):
        rows += _branching_rows(results, dataset, paper)
        here = results.value("largest_single", kind="hypotheses", dataset=dataset)
        name = f"largest single / {TITLES[dataset]}"
        rows.append(ReportRow((name.replace(" /", ","),), here, paper(name), deterministic=True))
    aaco = results.value("sets", part="realigned", dataset="miniboone", method="aaco", budget=10)
    rows.append(ReportRow(("AACO's distinct sets, MiniBooNE, 10",), aaco, paper("AACO distinct sets / MiniBooNE / 10")))
    return ReportTable(
        "Acquisition collapse", "appendix-collapse", ("figure",), [*rows, *_realigned_rows(results, paper)]
    )


def _realigned_rows(results: Results, paper: Any) -> list[ReportRow]:
    """The text's numbers about the realigned classifier on MiniBooNE."""
    found = results.select(part="realigned", dataset="miniboone")
    gaps = realigned_gaps(results, "miniboone")
    closed = [value for *_, before, after in gaps if (value := _closed(before, after)) is not None]
    whole = results.settings.profile == "paper"
    rows = [
        ReportRow(
            ("masks in the bank",),
            found[0]["bank"] if found else None,
            paper("mask bank rows"),
            deterministic=True,
            comparable=whole or not found,
            note="" if whole else "this profile takes fewer training rows",
        ),
        ReportRow(("gap closed, mean percent",), float(np.mean(closed)) if closed else None, paper("closed percent")),
    ]
    for budget in BUDGETS["miniboone"]:
        own = [row for row in found if row["method"] == "synafa" and row["budget"] == budget]
        here = 100 * float(np.mean([row["aligned"] - row["original"] for row in own])) if own else None
        name = f"SynAFA gain points / MiniBooNE / {budget}"
        rows.append(ReportRow((f"SynAFA's gain in points, MiniBooNE, {budget}",), here, paper(name)))
    lost = sum(after.outcome == "loss" for *_, after in gaps) if gaps else None
    rows.append(ReportRow(("significant losses after realignment",), lost, paper("losses after realignment")))
    return rows


def _branching_rows(results: Results, dataset: str, paper: Any) -> list[ReportRow]:
    found = results.select(kind="branching", dataset=dataset)
    title = TITLES[dataset]
    if dataset == "miniboone":
        cases: list[tuple[str, Any]] = [
            ("combinations", lambda: found[0]["combinations"]),
            ("winners", lambda: max(row["winners"] for row in found)),
            ("pair score", lambda: found[0]["pair_score"]),
            ("best single score", lambda: found[0]["single_score"]),
            ("pair margin", lambda: min(row["margin"] for row in found)),
            ("single margin", lambda: min(row["single_margin"] for row in found)),
        ]
    else:
        cases = [
            ("prefixes", lambda: len(found)),
            ("winners low", lambda: min(row["winners"] for row in found)),
            ("winners high", lambda: max(row["winners"] for row in found)),
            ("margin low", lambda: min(row["margin"] for row in found)),
            ("margin high", lambda: max(row["margin"] for row in found)),
            ("single margin low", lambda: min(row["single_margin"] for row in found)),
            ("single margin high", lambda: max(row["single_margin"] for row in found)),
        ]
    return [
        ReportRow(
            (f"sixth decision, {name}, {title}",),
            value() if found else None,
            paper(f"{name} / {title}"),
            deterministic=True,
        )
        for name, value in cases
    ]


def _sets_table(results: Results) -> PlainTable:
    rows = [
        (TITLES[row["dataset"]], row["budget"], row["n"], row["sets"], f"{100 * row['majority']:.1f} %")
        for row in results.select(kind="sets")
    ]
    columns = ("dataset", "budget", "test rows", "distinct sets", "share of the commonest")
    return PlainTable("Distinct acquired sets", "collapse-sets", columns, rows)


def _branching_table(results: Results) -> PlainTable:
    rows = [
        (
            *(TITLES[row["dataset"]], row["decision"], row["prefix"], row["rows"], row["combinations"]),
            *(row["winners"], row["margin"], row["single_margin"], row["pair_score"], row["single_score"]),
        )
        for row in results.select(kind="branching")
    ]
    return PlainTable(
        "One decision under every combination of realised values",
        "collapse-branching",
        ("dataset", "decision", "acquired before", "test rows", "combinations", "winners", *_MARGINS),
        rows,
        note="Scores in bits, cost taken off. A margin is the winner's lead over a proposal for another feature.",
    )


def _hypotheses(results: Results) -> ReportTable:
    rows = []
    for column, shown in (("mean", "Synergy3 mean"), ("p90", "Synergy3 p90"), ("max", "Synergy3 max")):
        for dataset, title in TITLES.items():
            here = results.value(f"synergy3_{column}", kind="hypotheses", dataset=dataset)
            paper = find_value("miniboone-hypotheses", (shown, title), "value")
            if here is not None or paper is not None:
                rows.append(ReportRow((shown, title), here, paper, deterministic=True, digits=3))
    for dataset, title in TITLES.items():
        here = results.value("retained", kind="hypotheses", dataset=dataset)
        paper = find_value("miniboone-hypotheses", ("retained percent", title), "value")
        note = "the paper does not name its estimator; nearest neighbours and counts here"
        rows.append(
            ReportRow(("retained after binarisation, percent", title), here, paper, comparable=False, note=note)
        )
    for size in SIZES["miniboone"]:
        paper = find_value("miniboone-hypotheses", ("AACO gap", size), "value")
        found = results.one(part="size", dataset="miniboone", size=size)
        gap = None if found is None else difference_of([found.arrays["aaco"]], [found.arrays["synafa"]])
        labels = ("AACO minus SynAFA, budget 10", f"MiniBooNE, {size:,} rows")
        if gap is None:
            rows.append(ReportRow(labels, None, paper))
        else:
            rows.append(ReportRow(labels, gap.value, paper, gap.low, gap.high, digits=3))
    return ReportTable("Alternative explanations", "miniboone-hypotheses", ("figure", "dataset"), rows)


def _size_table(results: Results) -> PlainTable:
    units_ = results.where(part="size")
    gaps = [difference_of([found.arrays["aaco"]], [found.arrays["synafa"]]) for found in units_]
    stars = starred([gap.value for gap in gaps], [gap.p for gap in gaps])
    rows = []
    for found, gap, shown in zip(units_, gaps, stars):
        row = found.rows[0]
        interval = f"[{gap.low:+.3f}, {gap.high:+.3f}]"
        rows.append((TITLES[found.unit["dataset"]], row["training_rows"], row["aaco"], row["synafa"], shown, interval))
    elsewhere = any(found.unit["dataset"] == "physionet" for found in results.where(part="size"))
    note = "A draw of AACO a judge; the judges are those of all training rows. Intervals over test rows and judges."
    note += f" {_ELSEWHERE}, not comparable with the paper's sweep." if elsewhere else ""
    columns = ("dataset", "training rows", "AACO", "SynAFA", "gap", "95 % interval")
    return PlainTable("Training size, budget 10", "collapse-size", columns, rows, note, digits=3)


def realigned_gaps(results: Results, dataset: str) -> list[tuple[str, int, Any, Any]]:
    """Baseline, budget, and SynAFA minus baseline under the original and the realigned classifier."""
    found = results.one(part="realigned", dataset=dataset)
    if found is None:
        return []
    gaps = []
    for budget in BUDGETS[dataset]:
        for name in THREE:
            before, after = (
                difference_of([found.arrays[f"{kind}/synafa_{budget}"]], [found.arrays[f"{kind}/{name}_{budget}"]])
                for kind in ("original", "aligned")
            )
            gaps.append((name, budget, before, after))
    return gaps


def _closed(before: Any, after: Any) -> float | None:
    return 100 * (1 - abs(after.value) / abs(before.value)) if before.value else None


def _realigned_tables(results: Results) -> list[ReportTable | PlainTable]:
    label = "miniboone-classifier-realignment"
    rows = []
    gaps = {(name, budget): pair for name, budget, *pair in realigned_gaps(results, "miniboone")}
    for budget in BUDGETS["miniboone"]:
        for name in THREE:
            pair = gaps.get((name, budget))
            for which, kind in enumerate(("original", "aligned")):
                paper, labels = (
                    paper_value(label, (NAMES[name], budget), kind),
                    (NAMES[name], str(budget), kind),
                )
                if pair is None:
                    rows.append(ReportRow(labels, None, paper))
                else:
                    d = pair[which]
                    rows.append(ReportRow.tested(labels, d.value, d.low, d.high, d.p, paper))
            here = None if pair is None else _closed(*pair)
            paper = paper_value(label, (NAMES[name], budget), "closed percent")
            rows.append(ReportRow((NAMES[name], str(budget), "closed, percent"), here, paper))
    shares = [value for pair in gaps.values() if (value := _closed(*pair)) is not None]
    here = float(np.mean(shares)) if shares else None
    rows.append(ReportRow(("mean", "", "closed, percent"), here, paper_value(label, "Mean", "closed percent")))
    found = [(TITLES[dataset], *gap) for dataset in REALIGNED for gap in realigned_gaps(results, dataset)]
    pairs = [d for *_, before, after in found for d in (before, after)]
    stars = iter(starred([d.value for d in pairs], [d.p for d in pairs], digits=4))
    plain = []
    for title, name, budget, before, after in found:
        shown = [text for d in (before, after) for text in (next(stars), f"[{d.low:+.4f}, {d.high:+.4f}]")]
        closed = _closed(before, after) if before.significant else None
        plain.append((title, NAMES[name], budget, *shown, "" if closed is None else f"{closed:.0f} %"))
    banks = {TITLES[row["dataset"]]: row["bank"] for row in results.select(part="realigned")}
    sizes = ", ".join(f"{title} {size:,}" for title, size in banks.items())
    note = (
        "SynAFA minus baseline; the checkpoint is chosen under masks of the bank. Five judges, each with its own "
        "training or draw of the policies; intervals over rows and judges, stars adjusted over the table. Closed: how "
        "much of a difference is gone, where its interval leaves zero out. "
        f"Masks in the bank: {sizes}."
    )
    return [
        ReportTable("Classifier realigned (MiniBooNE)", label, ("baseline", "budget", "classifier"), rows),
        PlainTable(
            "Classifier trained on the policies' masks",
            "collapse-realigned",
            (
                "dataset",
                "baseline",
                "budget",
                "original classifier",
                _INTERVAL,
                "realigned",
                f"{_INTERVAL} then",
                "closed",
            ),
            plain,
            note,
        ),
    ]


def figures(results: Results) -> list[Figure]:
    shown = [(d, gap) for d in REALIGNED for gap in realigned_gaps(results, d)]
    if not shown:
        return []
    figure, (axes,) = new_figure(width=7.2, height=3.0)
    for x, (_, (_, _, before, after)) in enumerate(shown):
        for shift, d, colour, marker in ((-0.15, before, "vermillion", "o"), (0.15, after, "blue", "s")):
            error = [[d.value - d.low], [d.high - d.value]]
            label = None if x else ("original classifier" if shift < 0 else "realigned")
            axes.errorbar(
                x + shift, d.value, yerr=error, fmt=marker, color=COLOURS[colour], capsize=2, ms=4, label=label
            )
    zero_line(axes)
    ticks = [f"{TITLES[d]} {NAMES[name]} {budget}" for d, (name, budget, *_) in shown]
    axes.set_xticks(range(len(shown)), ticks, rotation=90, fontsize=7)
    axes.set_ylabel("SynAFA minus baseline")
    axes.legend()
    caption = "Accuracy differences under the shared classifier and under one trained on the policies' own masks."
    return [Figure("realignment", "Does the classifier's training decide?", caption, figure)]


def headline(results: Results) -> list[Headline]:
    wanted = {("ckd", 4): 2, ("actg175", 5): 5, ("bank", 4): 3, ("physionet", 10): 10}
    found = {k: results.value("sets", kind="sets", dataset=k[0], budget=k[1]) for k in wanted}
    if any(value is None for value in found.values()):
        return []
    said = ", ".join(f"{TITLES[d]} {value}" for (d, _), value in found.items())
    return [
        Headline(f"Distinct acquired sets: {said} (paper: 2, 5, 3, 10).", held=found == wanted, rank=7),
    ]
