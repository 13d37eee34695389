"""A proof as JSON values and sentences: curves, what adapting is worth, calibration, purchases, leaks, the card."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from synafa.money import amount
from synafa.money.errors import label_text
from synafa.proof.measures import Interval, differences, measure_all
from synafa.proof.prove import MODEL, ROOT, Proof

ALONE_AREA = 0.98  # a feature that ranks the classes this well alone is suspicious
ALONE_LOSS = 0.15  # or one that leaves so little of the log loss
LEAST_PART = 20
CALIBRATION_BINS = 10


def findings(proof: Proof) -> dict[str, Any]:
    """Everything a report shows, as JSON values."""
    from synafa import __version__

    measured = measure_all(proof)
    return {
        "format": "synafa-report",
        "version": 1,
        "synafa": __version__,
        "data": data_card(proof),
        "budgets": [limit(b) for b in proof.budgets],
        "curves": [
            {"method": method, "budget": limit(budget)}
            | {name: interval.to_dict() for name, interval in measured[method, budget].items()}
            for method in proof.methods
            for budget in proof.budgets
        ],
        "adaptivity": adaptivity(proof),
        "calibration": calibration(proof),
        "needs": needs(proof),
        "bought": bought(proof),
        "parts": parts(proof),
        "suspicious": suspicious(proof),
        "synergies": synergies(proof),
        "rules": _graph(proof),
    }


def limit(budget: float) -> float | None:
    """A budget as JSON has it: None for no limit."""
    return None if math.isinf(budget) else float(budget)


def budget_text(budget: float) -> str:
    return "no limit" if math.isinf(budget) else f"{budget:g}"


def data_card(proof: Proof) -> dict[str, Any]:
    """What the table, the prices and the way of judging were."""
    table = proof.table
    names = list(table.features.columns)
    values = proof.model.encode(table.features)
    empty = np.isnan(values)
    counts = np.bincount(table.y, minlength=table.n_classes)
    return {
        "target": table.target,
        "rows": len(table.y),
        "rows_given": table.n_given,
        "groups": None if table.groups is None else len(np.unique(table.groups)),
        "folds": int(proof.fold.max()) + 1,
        "seed": proof.settings.seed,
        "classes": {label_text(c): int(k) for c, k in zip(table.classes, counts)},
        "missing_share": float(empty.mean()),
        "features": [
            {
                "name": name,
                "missing_share": float(empty[:, j].mean()),
                "price": float(proof.prices.price[j]),
                "price_in_group": float(proof.prices.price_in_group[j]),
                "panel": proof.prices.panel_names[proof.prices.panel[j]] if proof.prices.panel[j] >= 0 else None,
                "group": proof.prices.group_names[proof.prices.group[j]] if proof.prices.group[j] >= 0 else None,
                "known": bool(proof.known[j]),
                "auroc_alone": float(proof.alone[j]),
            }
            for j, name in enumerate(names)
        ],
        "error_costs": None
        if proof.errors is None
        else {
            t: {d: float(c) for d, c in zip(proof.errors.class_names, row) if t != d}
            for t, row in zip(proof.errors.class_names, proof.errors.matrix)
        },
    }


def adaptivity(proof: Proof) -> dict[str, Any]:
    """Is letting the plan depend on results worth it? The tree minus its own root plan on held-out rows."""
    measure = "log_loss" if proof.errors is None else "cost"
    found = differences(proof, MODEL, ROOT, ("log_loss", "auroc", "cost"))
    overall = found[measure][None]
    trees = [leaves for each in proof.leaves.values() for leaves in each]
    split = sum(leaves > 1 for leaves in trees)
    saved = Interval(-overall.mean, -overall.high, -overall.low)
    unit = "nats of log loss" if proof.errors is None else "of money"
    interval = f"95 % interval {_signed(saved.low, measure)} to {_signed(saved.high, measure)}"
    size = f"{_signed(saved.mean, measure)} {unit} a case ({interval}), averaged over the budgets"
    if not split:
        verdict, text = (
            "none",
            (f"No: in none of {len(trees)} fits did a result change what to measure next; the fixed panel is as good."),
        )
    elif saved.low > 0:
        verdict, text = "yes", f"Yes: letting the plan depend on results saves {size}."
    elif saved.high < 0:
        verdict, text = "no", f"No, it did harm: letting the plan depend on results saved {size}."
    else:
        verdict, text = "not shown", f"Not shown: letting the plan depend on results saves {size}; this may be chance."
    return {
        "verdict": verdict,
        "sentence": text,
        "measure": measure,
        "saved": saved.to_dict(),
        "trees_with_questions": split,
        "trees": len(trees),
        "by_budget": [
            {"budget": limit(b), "leaves": proof.leaves[b]}
            | {name: found[name][b].to_dict() for name in ("log_loss", "auroc", "cost")}
            for b in proof.budgets
        ],
    }


def calibration(proof: Proof) -> list[dict[str, Any]]:
    """Predicted and observed shares of the model at the largest budget, in bins of equal numbers of rows."""
    from synafa.stats import wilson_interval

    proba, y = proof.judged[MODEL, proof.budgets[-1]].proba, proof.table.y
    if proba.shape[1] == 2:
        said, came = proba[:, 1], y == 1
    else:
        said, came = proba.max(axis=1), proba.argmax(axis=1) == y
    order = np.argsort(said, kind="stable")
    bins = np.array_split(order, max(1, min(CALIBRATION_BINS, len(y) // 20)))
    out = []
    for rows in bins:
        share = float(came[rows].mean())
        low, high = wilson_interval(np.array([share]), len(rows))
        out.append(
            {"predicted": float(said[rows].mean()), "observed": share, "low": float(low[0]), "high": float(high[0])}
            | {"rows": len(rows)}
        )
    return out


def needs(proof: Proof) -> list[dict[str, Any]]:
    """How many measurements and how much money cases need at every budget."""
    out = []
    for budget in proof.budgets:
        judged = proof.judged[MODEL, budget]
        counts = np.bincount(judged.asked)
        out.append(
            {
                "budget": limit(budget),
                "measurements_mean": float(judged.asked.mean()),
                "measurements": {str(k): float(c / len(judged.asked)) for k, c in enumerate(counts) if c},
                "paid_mean": float(judged.paid.mean()),
                "paid_quantiles": [float(q) for q in np.quantile(judged.paid, [0.1, 0.5, 0.9])],
            }
        )
    return out


def bought(proof: Proof) -> list[dict[str, Any]]:
    """For every feature that is ever bought, the share of held-out cases in which it is, at every budget."""
    names = proof.table.features.columns
    shares = np.stack([proof.judged[MODEL, b].known.mean(axis=0) for b in proof.budgets], axis=1)
    shares[proof.known] = 0.0
    order = np.argsort(-shares.max(axis=1), kind="stable")
    return [{"feature": names[j], "shares": shares[j].tolist()} for j in order if shares[j].max() > 0]


def parts(proof: Proof) -> list[dict[str, Any]]:
    """The model at the largest budget in each part of the rows (`--by`)."""
    if proof.table.by is None:
        return []
    out: list[dict[str, Any]] = []
    for name in dict.fromkeys(sorted(proof.table.by.tolist())):
        rows = np.flatnonzero(proof.table.by == name)
        entry: dict[str, Any] = {"part": name, "rows": len(rows)}
        if len(rows) >= LEAST_PART:
            found = measure_all(proof, rows)[MODEL, proof.budgets[-1]]
            entry |= {measure: interval.to_dict() for measure, interval in found.items()}
            entry["classes"] = (np.bincount(proof.table.y[rows], minlength=proof.table.n_classes) / len(rows)).tolist()
        out.append(entry)
    return out


def suspicious(proof: Proof) -> list[dict[str, Any]]:
    """Features that decide nearly everything alone, and columns that look like identifiers or row numbers."""
    out: list[dict[str, Any]] = []
    for j, column in enumerate(proof.table.features.iter_columns()):
        area, loss = float(proof.alone[j]), float(proof.alone_loss[j])
        if area >= ALONE_AREA or loss <= ALONE_LOSS:
            text = (
                f"{column.name!r} alone tells the classes apart (AUROC {area:.3f} on held-out rows); make sure that it "
                "is known before the class is, and is not a consequence of it."
            )
            out.append({"feature": column.name, "why": "decides alone", "auroc": area, "text": text})
    named = {each["feature"] for each in out}
    for one in proof.table.noticed:
        if one.column not in named:
            out.append({"feature": one.column, "why": one.kind, "auroc": None, "text": one.text})
    return out


def synergies(proof: Proof, top: int = 6) -> dict[str, list[dict[str, Any]]]:
    """The pairs of largest synergy and redundancy in bits, features cut at their medians."""
    from synafa.analysis.pairs import strongest_pairs

    if proof.table.features.width < 2:
        return {"synergistic": [], "redundant": []}
    labels = proof.table.y
    found = strongest_pairs(proof.table.features, labels, top=top)
    return {kind: [pair.as_dict() for pair in group] for kind, group in found.items()}


def _graph(proof: Proof) -> Any:
    """The decision graph of the model of all rows, as JSON."""
    import json

    from synafa.graph.draw import to_json

    return json.loads(to_json(proof.model.decision_graph()))


def _signed(value: float, measure: str) -> str:
    text = amount(abs(value)) if measure == "cost" else f"{abs(value):.4f}"
    return f"{'-' if value < 0 else '+'}{text}"
