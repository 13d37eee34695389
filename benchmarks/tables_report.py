"""The results of `bench_tables` as `docs/plan_tree_tables.md` and its figure.

Rows of all outer folds are compared in pairs (plan tree minus the other): the mean difference against its standard
error gives a p-value, and Benjamini-Hochberg at 5 % goes over all cells of one measure.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import norm, rankdata

from benchmarks.bench_tables import BUDGETS, FIRST, LAST, OUTER
from synafa.files import atomic_path, write_text
from synafa.report.figures import house_style, new_figure, svg_bytes
from synafa.report.style import CYCLE, MARKERS
from synafa.stats import benjamini_hochberg

OURS = "plan tree"
RIVALS = ("its fixed panel", "panel, logistic", "panel, boosting", "CART", "CART, our predictor", "SynAFA")
MEASURES = {"auroc": ("AUROC", 1.0), "log_loss": ("log loss (nats)", -1.0)}  # and which way is better
Lines = dict[tuple[str, int], dict]
INTRODUCTION = """\
`make bench-tables`: five outer folds; panels, strengths and leaf sizes are chosen by three-fold cross-validation inside
the training rows; budgets are numbers of features; tables are cut to 3,000 random rows. Panels try, after the first
step, the 20 features that bring most alone, on at most 1,500 rows. CART has the budget as its depth, its leaves drawn
towards the class shares by one row's weight; "our predictor" sees the features on its path. SynAFA and all features are
judged by our predictor.
"""


def complete(lines: Lines) -> list[str]:
    """Tables of which every fold is there."""
    return [t for t in (*FIRST, *LAST) if all((t, f) in lines for f in range(OUTER))]


def pooled(lines: Lines, table: str, method: str, budget: int, measure: str) -> np.ndarray:
    """The values of the rows of all folds."""
    return np.concatenate([lines[table, f]["answers"][f"{method}|{budget}"][measure] for f in range(OUTER)])


def compare(lines: Lines, tables: list[str], measure: str) -> dict[tuple[str, int, str], tuple[float, float]]:
    """Plan tree minus each other method, positive is better, and its p-value."""
    sign = MEASURES[measure][1]
    found = {}
    for table in tables:
        for budget in BUDGETS:
            ours = pooled(lines, table, OURS, budget, measure)
            for rival in RIVALS:
                gain = sign * (ours - pooled(lines, table, rival, budget, measure))
                error = gain.std(ddof=1) / np.sqrt(len(gain))
                p = 2 * norm.sf(abs(gain.mean()) / error) if error > 0 else 1.0
                found[table, budget, rival] = (float(gain.mean()), float(p))
    return found


def write(lines: Lines, docs: Path) -> str:
    """Write page and figure; returns a summary."""
    tables = complete(lines)
    if not tables:
        return "No table is complete yet."
    text = [
        "# The plan tree on public tables",
        "",
        INTRODUCTION,
        f"Tables looked at while the code was written: {', '.join(t for t in tables if t in FIRST)}. "
        + (
            f"Looked at once, at the end: {', '.join(t for t in tables if t in LAST)}."
            if any(t in LAST for t in tables)
            else f"Not run yet: {', '.join(LAST)}."
        ),
        "The predictor was chosen on tables that include all of these (`docs/predictor.md`).",
        "",
    ]
    verdicts = []
    for measure, (title, sign) in MEASURES.items():
        found = compare(lines, tables, measure)
        keys = list(found)
        kept = dict(zip(keys, benjamini_hochberg([found[key][1] for key in keys]).rejected))
        ranks = _ranks(lines, tables, measure, sign)
        text += [f"## {title}", "", "| table | budget | " + " | ".join((OURS, *RIVALS, "all features", "used")) + " |"]
        text += ["|" + "---|" * (len(RIVALS) + 5)]
        for table in tables:
            whole = pooled(lines, table, "all features", BUDGETS[-1], measure).mean()
            for budget in BUDGETS:
                cells = [f"{pooled(lines, table, OURS, budget, measure).mean():.3f}"]
                for rival in RIVALS:
                    mark = ("*" if found[table, budget, rival][0] > 0 else "!") if kept[table, budget, rival] else ""
                    cells.append(f"{pooled(lines, table, rival, budget, measure).mean():.3f}{mark}")
                used = np.mean([lines[table, f]["answers"][f"{OURS}|{budget}"]["used"] for f in range(OUTER)])
                text.append(f"| {table} | {budget} | " + " | ".join([*cells, f"{whole:.3f}", f"{used:.2f}"]) + " |")
        text += [
            "",
            "`*`: the plan tree is better, `!`: worse (5 %, Benjamini-Hochberg over the cells of this table).",
            "",
        ]
        text += ["| | " + " | ".join(RIVALS) + " |", "|" + "---|" * (len(RIVALS) + 1)]
        won = {
            r: [sum(kept[k] and (found[k][0] > 0) == up for k in keys if k[2] == r) for up in (True, False)]
            for r in RIVALS
        }
        cells = len(tables) * len(BUDGETS)
        text.append("| won / level / lost | " + " | ".join(f"{w}/{cells - w - x}/{x}" for w, x in won.values()) + " |")
        worse = [
            f"{t} at {b} against {r} ({found[t, b, r][0]:+.3f})" for t, b, r in keys if _lost(found, kept, (t, b, r))
        ]
        text += ["", f"Worse: {'; '.join(worse) if worse else 'nowhere'}."]
        text += ["", "Mean rank (1 is best): " + ", ".join(f"{m} {r:.2f}" for m, r in ranks.items()) + ".", ""]
        verdicts.append(f"{title}: lost cells {sum(x for _, x in won.values())}, ranks {ranks}")
    text += [
        "![What the plan tree gains over the others, mean of the tables, 95 % intervals](images/plan_tree_tables.svg)",
        "",
    ]
    write_text(docs / "plan_tree_tables.md", "\n".join(text))
    (docs / "images").mkdir(parents=True, exist_ok=True)
    with atomic_path(docs / "images" / "plan_tree_tables.svg") as temporary:
        temporary.write_bytes(_figure(lines, tables))
    return f"{len(tables)} tables. " + "; ".join(verdicts)


def _lost(found: dict, kept: dict, key: tuple[str, int, str]) -> bool:
    return bool(kept[key] and found[key][0] < 0)


def _ranks(lines: Lines, tables: list[str], measure: str, sign: float) -> dict[str, float]:
    methods = (OURS, *RIVALS)
    ranks = []
    for table in tables:
        for budget in BUDGETS:
            ranks.append(rankdata([-sign * round(pooled(lines, table, m, budget, measure).mean(), 5) for m in methods]))
    return dict(zip(methods, np.mean(ranks, axis=0).round(2).tolist()))


def mean_gain(lines: Lines, tables: list[str], rival: str, budget: int, measure: str) -> tuple[float, float]:
    """The plan tree minus another method, mean of the tables (positive is better), and half its 95 % interval."""
    gains = [
        MEASURES[measure][1] * (pooled(lines, t, OURS, budget, measure) - pooled(lines, t, rival, budget, measure))
        for t in tables
    ]
    error = np.sqrt(sum(gain.var(ddof=1) / len(gain) for gain in gains)) / len(gains)
    return float(np.mean([gain.mean() for gain in gains])), 1.96 * float(error)


def _figure(lines: Lines, tables: list[str]) -> bytes:
    with house_style():
        figure, axes = new_figure(2, 1, width=4.0)
        for place, (measure, (title, _)) in zip(axes, MEASURES.items()):
            x = np.arange(len(BUDGETS))
            for i, rival in enumerate(RIVALS):
                middle, half = zip(*(mean_gain(lines, tables, rival, b, measure) for b in BUDGETS))
                options = {"color": CYCLE[i + 1], "marker": MARKERS[i + 1], "linewidth": 1, "label": rival}
                place.errorbar(x + 0.08 * (i - 2.5), middle, yerr=half, **options)
            place.axhline(0, color="black", linewidth=0.8)
            place.set_xticks(x, BUDGETS)
            place.set(xlabel="features", ylabel=f"gain of the plan tree, {title}")
        axes[1].legend(fontsize=7, title="over", title_fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0))
        return svg_bytes(figure)
