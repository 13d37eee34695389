"""The findings of a proof as one self-contained page, and as lines on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from synafa.graph.draw import to_svg
from synafa.money import amount
from synafa.proof.prove import ALL, MODEL, NOTHING, Proof
from synafa.report.page import Section, bar_plot, figure_svg, new_figure, page, paragraphs, table_html, zoom_pane
from synafa.report.style import COLOURS, CYCLE, MARKERS

TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "auroc": "AUROC",
    "log_loss": "Log loss (nats)",
    "cost": "Cost of a case: tests and errors",
}
SHOWN_FEATURES = 20


def report_page(found: dict[str, Any], proof: Proof, name: str) -> str:
    """The whole page; `found` is what `findings` made of the proof, `name` what the table is called."""
    return page(f"Proof on {name}", introduction(found, name), report_sections(found, proof))


def introduction(found: dict[str, Any], name: str) -> str:
    """How the rows were judged."""
    data = found["data"]
    return (
        f"What a model of {data['target']} would have done on {data['rows']:,} rows of {name} that it was not fitted "
        f"on: {data['folds']} folds, each predicted by what the others taught"
        + (", rows of one group together" if data["groups"] else "")
        + ". Intervals are 95 %, from resampled "
        + ("groups." if data["groups"] else "rows.")
    )


def report_sections(found: dict[str, Any], proof: Proof) -> list[Section]:
    """Everything below the introduction."""
    data = found["data"]
    sections = [
        Section("Is adaptivity worth it here?", _adaptivity(found)),
        Section("How good at which budget?", _curves(found, data)),
        Section("Do the probabilities mean what they say?", _calibration(found, data)),
        Section("What cases need", _needs(found)),
        Section("What is bought", _bought(found)),
    ]
    if found["parts"]:
        sections.append(Section(f"By {proof.table.by_name}", _parts(found)))
    sections += [
        Section("What looks suspicious", _suspicious(found)),
        Section("The decision graph", _graph(proof)),
        Section("Pairs", _pairs(found)),
        Section("Model card", _card(found, proof)),
    ]
    return sections


def lines(found: dict[str, Any]) -> list[str]:
    """The main results for the terminal."""
    out = [found["adaptivity"]["sentence"]]
    last = found["budgets"][-1]
    for curve in found["curves"]:
        if curve["budget"] == last:
            area, loss = curve["auroc"], curve["log_loss"]
            cost = f", cost a case {amount(curve['cost']['mean'])}" if found["data"]["error_costs"] else ""
            out.append(
                f"{curve['method']}: AUROC {_interval(area)}, log loss {_interval(loss)}, "
                f"{curve['measurements']['mean']:.1f} measurements{cost} (budget {_budget(last)})"
            )
    out += [f"Suspicious: {each['text']}" for each in found["suspicious"]]
    return out


def _budget(budget: float | None) -> str:
    return "no limit" if budget is None else f"{budget:g}"


def _with(budget: float | None) -> str:
    return "without a budget" if budget is None else f"with a budget of {budget:g}"


def _interval(value: dict[str, float], digits: int = 3) -> str:
    if not np.isfinite(value["mean"]):
        return "not defined"
    return f"{value['mean']:.{digits}f} [{value['low']:.{digits}f}, {value['high']:.{digits}f}]"


def _adaptivity(found: dict[str, Any]) -> str:
    about = found["adaptivity"]
    rows = [
        [_budget(each["budget"]), *(_interval(each[name], 4) for name in ("log_loss", "auroc", "cost")),
         ", ".join(map(str, each["leaves"]))]
        for each in about["by_budget"]
    ]  # fmt: skip
    note = (
        "The model is a tree of plans. Beside it stands the fixed panel that its own search began with, judged by the "
        "same predictor on the same held-out rows; the table is tree minus panel. A tree of one leaf is a panel."
    )
    head = ["budget", "log loss", "AUROC", "cost", "leaves in each fold"]
    said = f"<blockquote>{escape(about['sentence'])}</blockquote>"
    return said if about["verdict"] == "none" else f"{said}{paragraphs(note)}{table_html(head, rows)}"


def _curves(found: dict[str, Any], data: dict[str, Any]) -> str:
    wanted = ["log_loss", "auroc", "balanced_accuracy", "accuracy"]
    if data["error_costs"]:
        wanted.insert(0, "cost")
    plots = "".join(_plot(found, name) for name in wanted)
    head = ["", "budget", *(TITLES[name] for name in wanted), "paid", "measurements"]
    rows = []
    for curve in found["curves"]:
        free = curve["method"] in (ALL, NOTHING)
        if free and curve["budget"] != found["budgets"][0]:
            continue  # the same at every budget
        digits = {name: 2 if name == "cost" else 3 for name in wanted}
        cells = [_interval(curve[name], digits[name]) for name in wanted]
        paid, asked = amount(curve["paid"]["mean"]), f"{curve['measurements']['mean']:.2f}"
        rows.append([curve["method"], "any" if free else _budget(curve["budget"]), *cells, paid, asked])
    note = (
        "All features and nothing do not depend on the budget. The CART has the depth of the model's longest way and "
        "does not know prices, so it may spend more than the budget."
    )
    table = f"<details><summary>The same as a table</summary>{table_html(head, rows)}</details>"
    return f"<div class='pair'>{plots}</div>{paragraphs(note)}{table}"


def _plot(found: dict[str, Any], measure: str) -> str:
    """One measure against budget, a line for each method."""
    figure = new_figure(5.2, 4.0)
    axes = figure.subplots()
    budgets = found["budgets"]
    x = np.arange(len(budgets), dtype=float)
    methods = list(dict.fromkeys(each["method"] for each in found["curves"]))
    for i, method in enumerate(methods):
        curve = [each[measure] for each in found["curves"] if each["method"] == method]
        mean, low, high = (np.array([point[key] for point in curve], dtype=float) for key in ("mean", "low", "high"))
        colour = CYCLE[i % len(CYCLE)]
        shift = 0.05 * (i - (len(methods) - 1) / 2)  # intervals side by side
        axes.errorbar(
            x + shift, mean, yerr=np.stack([mean - low, high - mean]).clip(0), color=colour, marker=MARKERS[i],
            markersize=4.5, linewidth=2.0 if method == MODEL else 1.2, elinewidth=0.9, label=method,
            linestyle="-" if method == MODEL else "--",
        )  # fmt: skip
    axes.set_xticks(x, [_budget(b) for b in budgets])
    axes.set_xlabel("budget")
    axes.set_title(TITLES[measure], loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, alpha=0.25)
    figure.legend(frameon=False, fontsize=7, loc="outside lower center", ncols=3)
    return figure_svg(figure, f"{TITLES[measure]} by budget")


def _calibration(found: dict[str, Any], data: dict[str, Any]) -> str:
    bins = found["calibration"]
    figure = new_figure(4.6, 4.2)
    axes = figure.subplots()
    said = np.array([b["predicted"] for b in bins])
    seen, low, high = (np.array([b[key] for b in bins]) for key in ("observed", "low", "high"))
    axes.plot([0, 1], [0, 1], color=COLOURS["grey"], linewidth=1, linestyle="--")
    errors = np.stack([seen - low, high - seen]).clip(0)
    axes.errorbar(said, seen, yerr=errors, color=CYCLE[0], marker="o", linestyle="", elinewidth=1)
    names = list(data["classes"])
    what = f"probability of {names[1]}" if len(names) == 2 else "probability of the most probable class"
    axes.set_xlabel(f"said: {what}")
    axes.set_ylabel("came true: share of held-out rows")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.grid(True, alpha=0.25)
    note = f"The model {_with(found['budgets'][-1])}; each point is a tenth of the rows or so."
    rows = [[f"{b['predicted']:.3f}", f"{b['observed']:.3f} [{b['low']:.3f}, {b['high']:.3f}]", f"{b['rows']:,}"]
            for b in bins]  # fmt: skip
    table = table_html(["said", "came true", "rows"], rows)
    return paragraphs(note) + figure_svg(figure, "Calibration on held-out rows") + table


def _needs(found: dict[str, Any]) -> str:
    rows = []
    for each in found["needs"]:
        low, middle, high = (amount(q) for q in each["paid_quantiles"])
        ways = ", ".join(f"{k}: {share:.0%}" for k, share in each["measurements"].items())
        rows.append(
            [
                _budget(each["budget"]),
                f"{each['measurements_mean']:.2f}",
                ways,
                amount(each["paid_mean"]),
                f"{low} / {middle} / {high}",
            ]
        )
    head = ["budget", "measurements", "share of cases by number", "paid", "paid by the 10th, 50th, 90th of 100 cases"]
    return table_html(head, rows)


def _bought(found: dict[str, Any]) -> str:
    rows = found["bought"][:SHOWN_FEATURES]
    if not rows:
        return paragraphs("Nothing is worth buying at any of these budgets.")
    head = ["feature", *("no limit" if b is None else f"budget {b:g}" for b in found["budgets"])]
    body = [[each["feature"], *(f"{share:.0%}" for share in each["shares"])] for each in rows]
    more = len(found["bought"]) - len(rows)
    note = f" and {more} more features" if more > 0 else ""
    return table_html(head, body, f"Share of held-out cases in which each feature is bought{note}")


def _parts(found: dict[str, Any]) -> str:
    rows = []
    for each in found["parts"]:
        if "auroc" not in each:
            rows.append([each["part"], f"{each['rows']:,}", "too few rows", "", "", "", ""])
            continue
        cells = [_interval(each[name]) for name in ("auroc", "log_loss", "accuracy")]
        asked, paid = f"{each['measurements']['mean']:.2f}", amount(each["paid"]["mean"])
        rows.append([each["part"], f"{each['rows']:,}", *cells, asked, paid])
    head = ["part", "rows", "AUROC", "log loss", "accuracy", "measurements", "paid"]
    note = f"The model {_with(found['budgets'][-1])}, on held-out rows."
    return table_html(head, rows, note)


def _suspicious(found: dict[str, Any]) -> str:
    if not found["suspicious"]:
        return paragraphs("No single feature decides nearly everything, and no column looks like an identifier.")
    return "<ul>" + "".join(f"<li>{escape(each['text'])}</li>" for each in found["suspicious"]) + "</ul>"


def _graph(proof: Proof) -> str:
    budget = _with(None if np.isinf(proof.model_budget) else proof.model_budget)
    graph = proof.model.decision_graph(min_share=0.01)
    note = (
        f"The model that all rows together give {budget}. The numbers above are of the models of the folds, each "
        "judged on rows that it had not seen."
    )
    return paragraphs(note) + zoom_pane(to_svg(graph, "Which measurement next?"))


def _pairs(found: dict[str, Any]) -> str:
    plots = []
    for kind, group in found["synergies"].items():
        if not group:
            continue
        keys = ("synergy", "unique_first", "unique_second", "redundant")
        labels = ("synergy", "unique to the first", "unique to the second", "redundant")
        shares = [(label, [pair[key] for pair in group]) for label, key in zip(labels, keys)]
        names = [f"{pair['first']}, {pair['second']}" for pair in group]
        plots.append(bar_plot(names, shares, "bits about the class", f"Strongest {kind} pairs"))
    note = "Exact information of pairs of features cut at their medians, in bits (Williams and Beer's atoms)."
    return paragraphs(note) + "".join(plots)


def _card(found: dict[str, Any], proof: Proof) -> str:
    data = found["data"]
    given = "" if data["rows"] == data["rows_given"] else f", drawn at random from {data['rows_given']:,}"
    shares = ", ".join(f"{name} {count:,}" for name, count in data["classes"].items())
    facts: list[Sequence[str]] = [
        ["rows", f"{data['rows']:,}{given}"],
        ["groups", "each row by itself" if data["groups"] is None else f"{data['groups']:,}"],
        ["classes", shares],
        ["features", str(len(data["features"]))],
        ["empty cells", f"{data['missing_share']:.1%}"],
        ["folds, seed", f"{data['folds']}, {data['seed']}"],
        ["predictors fitted", str(proof.fits)],
        ["synafa", found["synafa"]],
    ]
    if data["error_costs"]:
        costs = [f"{d} when it is {t}: {amount(c)}" for t, row in data["error_costs"].items() for d, c in row.items()]
        facts.append(["cost of deciding", "; ".join(costs)])
    rows = []
    for each in data["features"]:
        where = ", ".join(f"{kind} {each[kind]}" for kind in ("panel", "group") if each[kind])
        price = "known" if each["known"] else amount(each["price"])
        if each["group"]:
            price += f", then {amount(each['price_in_group'])}"
        rows.append([each["name"], price, where, f"{each['missing_share']:.1%}", f"{each['auroc_alone']:.3f}"])
    limits = (
        "Limits. These numbers hold for cases like the rows of this table: other places, times and ways of measuring "
        "are not in them. Folds share training rows, so the intervals tell of the cases, not of what another table of "
        "the same size would teach. A cell that is empty in the table could not be bought here and told nothing. "
        "Costs are as given; time, harm and delay of a measurement are in them only if its price says so."
    )
    features = table_html(["feature", "price", "bought with", "empty", "AUROC alone"], rows)
    return table_html(["what", "value"], facts) + features + paragraphs(limits)
