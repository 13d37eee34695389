"""Is there synergy and redundancy in PhysioNet at all? Every pair tested by permutation within the outcome strata.

The whole cohort with exact and with sampled p-values, then random halves: what one half discovers, the other confirms.
The paper's seed of the halves is not known, so ours are reported over many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.report.figures import new_figure
from synafa.report.style import COLOURS, INK
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.paper import PaperValue, paper_value

NAME = "physionet-validation"
TITLE = "PhysioNet: which pairs are synergistic or redundant"
VERSION = 1
COVERS = ("appendix-physionet-scan",)

PAIRS = (("GCS", "PaO2"), ("BUN", "Creatinine"), ("PaO2", "FiO2"))
SEEDS = 20
_HALVES = ("discovery pairs", "replicated pairs", "replicated percent")
_ATOMS = ("single_a", "single_b", "joint", "redundant", "unique_a", "unique_b", "synergy")
_KEPT = ("a", "b", "n", *_ATOMS, "z", "p_synergy", "p_redundancy", "significant_synergy", "significant_redundancy")


def units(settings: Settings) -> list[Unit]:
    if "physionet" not in settings.datasets:
        return []
    scans = [_unit(settings, {"part": "scan", "method": method}, 0.5) for method in ("exact", "sampled")]
    halves = [_unit(settings, {"part": "halves", "method": "exact", "seed": s}, 0.5) for s in range(_seeds(settings))]
    return [*scans, _unit(settings, {"part": "pairs"}, 1.0), *halves]


def _unit(settings: Settings, parameters: dict[str, Any], cost: float) -> Unit:
    return settings.unit(NAME, __name__, VERSION, {"dataset": "physionet", **parameters}, cost=cost)


def _seeds(settings: Settings) -> int:
    return 2 if settings.quick else SEEDS


def run(unit: Unit) -> dict[str, Any]:
    from synafa.analysis.scan import discovery_validation, scan
    from synafa.datasets import load_raw

    raw = load_raw("physionet")
    rows = slice(0, 1200) if unit.quick else slice(None)
    values, y, names = raw.values[rows], raw.y[rows], raw.feature_names
    if unit["part"] == "pairs":
        table = scan(values, y, names, max_missing=1.0, pairs=PAIRS).table
        return {"rows": table.select(_KEPT).to_dicts()}
    if unit["part"] == "scan":
        result = scan(values, y, names, method=unit["method"], seed=unit.seed)
        summary = {
            "usable": len(result.feature_names),
            "pairs": result.table.height,
            "tested": result.n_tested,
            **{f"found_{tail}": result.significant(tail).height for tail in ("synergy", "redundancy")},
        }
        return {"rows": [{"kind": "summary", **summary}, *result.table.select(_KEPT).to_dicts()]}
    halves = discovery_validation(values, y, names, seed=unit["seed"])
    row: dict[str, Any] = {"n_discovery": halves.n_discovery, "n_validation": halves.n_validation}
    for tail in ("synergy", "redundancy"):
        row |= {f"found_{tail}": halves.discovered(tail), f"replicated_{tail}": halves.replicated(tail)}
    told = {(tail, a, b): done for tail, a, b, done in halves.confirmation["tail", "a", "b", "replicated"].iter_rows()}
    row["gcs_pao2"] = bool(told.get(("synergy", "GCS", "PaO2"), False))
    row["bun_creatinine"] = bool(told.get(("redundancy", "BUN", "Creatinine"), False))
    return {"rows": [row]}


def tables(results: Results) -> list[ReportTable | PlainTable]:
    def printed(name: str) -> PaperValue:
        return paper_value("appendix-physionet-scan", name, "value")

    summary = (results.select(part="scan", method="exact", kind="summary") or [{}])[0]
    drawn = (results.select(part="scan", method="sampled", kind="summary") or [{}])[0]
    gcs = (results.select(part="scan", method="exact", a="GCS", b="PaO2") or [{}])[0]
    sampled = (results.select(part="scan", method="sampled", a="GCS", b="PaO2") or [{}])[0]
    rows = [
        ReportRow(("usable variables",), summary.get("usable"), printed("usable variables"), deterministic=True),
        ReportRow(("usable pairs",), summary.get("pairs"), printed("usable pairs"), deterministic=True),
        ReportRow(
            ("tested pairs (200 joint rows or more)",),
            summary.get("tested"),
            printed("tested pairs"),
            comparable=False,
            note="all 378 pairs have at least 200 joint rows; how the paper left out 27 is not known",
        ),
        ReportRow(("complete cases GCS/PaO2",), gcs.get("n"), printed("complete cases GCS/PaO2"), deterministic=True),
        ReportRow(("Syn GCS/PaO2, bits",), gcs.get("synergy"), printed("Syn GCS/PaO2"), deterministic=True),
        ReportRow(
            ("p GCS/PaO2, 2,000 permutations",), sampled.get("p_synergy"), printed("p GCS/PaO2"), deterministic=True
        ),
        ReportRow(
            ("strongest significant pair is GCS/PaO2",),
            _strongest(results),
            PaperValue(1.0, None, "1"),
            deterministic=True,
        ),
    ]
    halves = results.select(part="halves")
    rows += _halves_rows(halves, printed)
    pairs = results.select(part="pairs")
    redundant = [row for row in pairs if row["a"] == "BUN"]
    found = float(redundant[0]["significant_redundancy"]) if redundant else None
    rows.append(
        ReportRow(
            ("BUN/creatinine redundant",), found, printed("BUN/creatinine redundant"), digits=0, deterministic=True
        )
    )
    plain = [[f"{row['a']} / {row['b']}", row["n"], *(row[name] for name in _ATOMS), row["z"]] for row in pairs]
    strongest = sorted(
        results.select(part="scan", method="exact", significant_synergy=True), key=lambda row: -row["synergy"]
    )
    note = (
        f"The whole cohort with exact p-values: {summary.get('found_synergy')} synergistic and "
        f"{summary.get('found_redundancy')} redundant pairs at FDR 0.05; sampled: {drawn.get('found_synergy')} and "
        f"{drawn.get('found_redundancy')}."
    )
    top = [(f"{row['a']} / {row['b']}", row["n"], row["synergy"], row["joint"], row["z"]) for row in strongest[:10]]
    return [
        ReportTable("PhysioNet scan", "appendix-physionet-scan", ("figure",), rows, note=note),
        PlainTable(
            "Three pairs, decomposed (bits)",
            "physionet-pairs",
            ("pair", "rows", "single a", "single b", "joint", "R", "U a", "U b", "Syn", "z of joint"),
            plain,
        ),
        PlainTable(
            "Ten strongest synergistic pairs", "physionet-strongest", ("pair", "rows", "Syn", "joint", "z"), top
        ),
    ]


def _strongest(results: Results) -> float | None:
    rows = results.select(part="scan", method="exact", significant_synergy=True)
    if not rows:
        return None
    best = max(rows, key=lambda row: row["synergy"])
    return float((best["a"], best["b"]) == ("GCS", "PaO2"))


def _halves_rows(halves: list[dict[str, Any]], printed: Any) -> list[ReportRow]:
    """Discovery and confirmation: the middle of our seeds, and their range as the interval."""
    if not halves:
        return [
            ReportRow((name,), None, printed(name)) for name in (*_HALVES, "patients per half", "GCS/PaO2 replicates")
        ]
    found = np.array([row["found_synergy"] for row in halves], dtype=float)
    again = np.array([row["replicated_synergy"] for row in halves], dtype=float)
    share = 100 * again / np.maximum(found, 1)
    note = f"median and central 95 % of {len(halves)} random splits; the paper's split is not known"
    rows = []
    for name, values in zip(_HALVES, (found, again, share)):
        low, middle, high = np.quantile(values, (0.025, 0.5, 0.975))
        rows.append(ReportRow((name,), float(middle), printed(name), float(low), float(high), note=note))
    sizes = halves[0]["n_discovery"]
    rows.append(ReportRow(("patients per half",), sizes, printed("patients per half"), deterministic=True))
    told = [float(row["gcs_pao2"]) for row in halves]
    value, spread = float(np.mean(told)), (min(told), max(told))
    label = ("GCS/PaO2 replicates (share of splits)",)
    rows.append(ReportRow(label, value, printed("GCS/PaO2 replicates"), digits=2, spread=spread))
    return rows


def figures(results: Results) -> list[Figure]:
    made = []
    illustrated = [row for row in results.select(part="pairs") if row["a"] == "PaO2"]
    if illustrated:
        made.append(_pid_figure(illustrated[0]))
    scanned = results.select(part="scan", method="exact")
    if len(scanned) > 1:
        made.append(_heatmap([row for row in scanned if row.get("a")]))
    return made


def _pid_figure(row: dict[str, Any]) -> Figure:
    from matplotlib.patches import Ellipse, Rectangle

    figure, (left, right) = new_figure(columns=2, width=3.9, height=2.9)
    left.set(xlim=(0, 10), ylim=(0, 7.2))
    left.axis("off")
    left.set_title("a  Two features about one class")
    left.add_patch(Rectangle((0.4, 0.6), 9.2, 5.4, fill=False, edgecolor=INK, lw=1.2))
    for x, colour in ((3.9, COLOURS["blue"]), (6.1, COLOURS["orange"])):
        left.add_patch(Ellipse((x, 3.0), 4.6, 3.3, facecolor=colour, alpha=0.3, edgecolor=colour, lw=1.4))
    for x, y, text in (
        (2.7, 3.0, "$U_a$"),
        (5.0, 3.0, "$R$"),
        (7.3, 3.0, "$U_b$"),
        (5.0, 5.3, "$\\mathrm{Syn}$"),
    ):
        left.text(x, y, text, ha="center", va="center", fontsize=12)
    left.text(2.6, 1.0, "$I(X_a;Y)$", color=COLOURS["blue"], ha="center")
    left.text(7.4, 1.0, "$I(X_b;Y)$", color="#8A5F00", ha="center")
    left.text(5.0, 6.25, "$I(X_a,X_b;Y) = R + U_a + U_b + \\mathrm{Syn}$", ha="center")
    names = ("R", "U PaO2", "U FiO2", "Syn", "joint")
    values = [row[name] for name in ("redundant", "unique_a", "unique_b", "synergy", "joint")]
    colours = [COLOURS[name] for name in ("grey", "blue", "orange", "green", "black")]
    right.bar(names, values, color=colours, width=0.65)
    for x, value in enumerate(values):
        right.text(x, value, f"{value:.4f}", ha="center", va="bottom", fontsize=8)
    right.set(ylabel="information about death, bits", ylim=(0, 1.15 * max(values)))
    right.grid(axis="x", visible=False)
    right.set_title(f"b  PaO2 and FiO2, {row['n']:,} patients")
    caption = (
        "(a) The four parts of what two features tell. (b) PhysioNet's PaO2 and FiO2, binarised at their medians: "
        "almost all is unique to PaO2, and some is there only when both are known."
    )
    return Figure("pid-schematic", "Redundant, unique and synergistic information", caption, figure)


def _heatmap(rows: list[dict[str, Any]]) -> Figure:
    import polars as pl

    from synafa.analysis.scan import ScanResult
    from synafa.analysis.scan_draw import heatmap

    table = pl.DataFrame(rows, infer_schema_length=None)
    names = tuple(dict.fromkeys([*table["a"], *table["b"]]))
    drawn = heatmap(ScanResult(table, names, (), "exact", 0.05, 0), "PhysioNet: all pairs with under 35 % missing")
    drawn.axes[0].grid(visible=False)
    caption = "Synergy above the diagonal, redundancy below; a dot marks a pair that is significant after correction."
    return Figure("physionet-scan", "Synergy and redundancy of all pairs", caption, drawn)


def headline(results: Results) -> list[Headline]:
    strongest = _strongest(results)
    halves = results.select(part="halves")
    if strongest is None or not halves:
        return []
    found = np.median([row["found_synergy"] for row in halves])
    share = np.median([row["replicated_synergy"] / max(row["found_synergy"], 1) for row in halves])
    said = "is" if strongest else "is not"
    return [
        Headline(
            f"GCS/PaO2 {said} PhysioNet's strongest synergistic pair; of about {found:.0f} pairs found in one half of "
            f"the patients {share:.0%} replicate in the other (paper: 51 and 71 %).",
            held=bool(strongest),
            rank=6,
        )
    ]
