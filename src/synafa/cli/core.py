"""`synafa fit`, `acquire`, `graph`, `pairs` and `demo`: tables in, a model, a run, a picture or a report out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synafa.cli.common import (
    MOST,
    AsJson,
    Bins,
    Data,
    Drop,
    Model,
    NearlyNumeric,
    Target,
    check_output,
    console,
    number,
    print_json,
    read_labelled,
    say,
    split_names,
    tell,
)
from synafa.cli.streaming import Checkpoint, Memory, Scheduler, acquire_stream, counted, streamed_source
from synafa.errors import SynafaError
from synafa.graph.shape import MAX_DEPTH, MIN_SHARE

if TYPE_CHECKING:
    import polars as pl


def fit(
    data: Data,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)],
    costs: Annotated[
        list[str] | None,
        typer.Option("--costs", help="name=cost words, or a CSV or JSON file; 1 where nothing is said."),
    ] = None,
    budget: Annotated[float, typer.Option("--budget", "-b", help="What the measurements of one case may cost.")] = 10.0,
    bins: Bins = 2,
    known: Annotated[
        list[str] | None, typer.Option("--known", help="Features known from the start, which cost nothing: age,sex.")
    ] = None,
    unavailable: Annotated[
        list[str] | None, typer.Option("--unavailable", help="Features that nobody can measure here: a,b.")
    ] = None,
    drop: Drop = None,
    cost_weight: Annotated[float, typer.Option("--cost-weight", help="Bits that one unit of cost must earn.")] = 0.01,
    affordability: Annotated[
        str, typer.Option("--affordability", help="strict, pairs, or deployed (the paper's rule to the letter).")
    ] = "strict",
    pair_branch: Annotated[bool, typer.Option("--pair-branch/--no-pair-branch", help="Look for pairs.")] = True,
    nearly_numeric: NearlyNumeric = "missing",
    memory: Memory = None,
    checkpoint: Checkpoint = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Learn from labelled rows which measurement to take next, and save the model.

    Example: `synafa fit patients.csv --target died --costs PaO2=5 lactate=3 --known age,sex --budget 8 -o model.synafa`
    """
    from synafa.files import is_standard_output
    from synafa.policy.synafa import SynAFA
    from synafa.table.reading import parse_costs

    check_output(output, ())
    source = streamed_source(data, memory, (target,), nearly_numeric, force=bool(scheduler or checkpoint))
    if source is None:
        features, labels = read_labelled(data, target, drop, nearly_numeric)
        names, n_rows = features.columns, features.height
    else:
        found = counted(source, target, bins, drop, checkpoint, scheduler)
        names, n_rows = list(found.encoder.feature_names_), found.counts.n_rows
    policy = SynAFA(
        budget=budget,
        costs=parse_costs(costs, names),
        cost_weight=cost_weight,
        pair_branch=pair_branch,
        affordability=affordability,
        n_bins=bins,
    )
    chosen = {"known": split_names(known, names), "unavailable": split_names(unavailable, names), "target": target}
    if source is None:
        policy.fit(features, labels, **chosen)
    else:
        policy.from_streamed(found, **chosen)
    policy.save(output)
    rule = policy.rule_
    strongest = sorted(zip(rule.feature_names, rule.single), key=lambda item: -item[1])[:5]
    summary = {
        "model": str(output),
        "rows": n_rows,
        "features": len(names),
        "classes": [str(label) for label in policy.classes_],
        "budget": budget,
        "strongest": [{"feature": name, "bits": float(bits)} for name, bits in strongest],
    }
    if as_json:
        print_json(summary)
        return
    out = console(error=is_standard_output(output))
    out.print(
        f"Fitted on {n_rows:,} rows, {len(names)} features, {len(policy.classes_)} classes; budget {number(budget)}."
    )
    out.print(
        "Most informative alone: " + ", ".join(f"{name} ({bits:.4f} bits)" for name, bits in strongest) + ".",
        markup=False,
    )
    out.print(f"Saved {output}. Ask it: synafa next {output}", markup=False, soft_wrap=True)


def acquire(
    model: Model,
    rows: Annotated[Path, typer.Argument(help="Complete rows, CSV or Parquet.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The run to write: .csv, .parquet or .json.", show_default=False)
    ],
    unavailable: Annotated[
        list[str] | None, typer.Option("--unavailable", help="What cannot be measured in any row: a,b.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", "-b", help="In place of the budget that the model was fitted with.")
    ] = None,
    on_stop: Annotated[
        str, typer.Option("--on-stop", help="'stop' ends a row where nothing pays; 'fallback' goes on as in the paper.")
    ] = "stop",
    memory: Memory = None,
    as_json: AsJson = False,
) -> None:
    """Run a model over complete rows: what it would have measured, in which order and why.

    Example: `synafa acquire model.synafa patients.csv -o run.csv`
    """
    from synafa.model.storage import load_model
    from synafa.table.reading import read_table

    suffix = check_output(output, (".csv", ".parquet", ".json"))
    policy = load_model(model)
    names = policy.rule_.feature_names
    options = {"unavailable": split_names(unavailable, names), "budget": budget, "on_stop": on_stop}

    def answer(table: pl.DataFrame, where: str) -> tuple[Any, pl.DataFrame]:
        run = policy.acquire(pick_columns(table, names, where), **options)
        return run, run_table(run, names, policy.rule_.costs)

    source = streamed_source(rows, memory)
    if source is None:
        run, steps = answer(read_table(rows, tell=tell), repr(str(rows)))
        _write_run(steps, run, names, output, suffix)
        sums = {"rows": len(run.cost), "measurements": int((run.order >= 0).sum()), "cost": float(run.cost.sum())}
        sums["sets"] = {row.tobytes() for row in run.mask}
    else:
        sums = acquire_stream(source, names, answer, output, suffix)
    n = max(1, sums["rows"])
    summary = {
        "run": str(output),
        "rows": sums["rows"],
        "mean_measurements": sums["measurements"] / n,
        "mean_cost": sums["cost"] / n,
        "distinct_sets": len(sums["sets"]),
    }
    if as_json:
        print_json(summary)
        return
    say(
        f"{sums['rows']:,} rows: {summary['mean_measurements']:.2f} measurements and a cost of "
        f"{summary['mean_cost']:.2f} each on average, {summary['distinct_sets']:,} different sets. Written to {output}.",
        output,
    )


def pick_columns(table: pl.DataFrame, names: Sequence[str], where: str) -> Any:
    """The model's columns of a table, which may hold others (the target, an identifier), in the model's order."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise SynafaError(f"{where} lacks the column {missing[0]!r}{more}, which the model was fitted on.")
    chosen = table.select(names)
    # A model of a plain array calls its columns x0, x1, ... and takes arrays.
    return chosen.to_numpy() if list(names) == [f"x{j}" for j in range(len(names))] else chosen


def run_table(run: Any, names: Sequence[str], costs: Any) -> pl.DataFrame:
    """One line per measurement: row (from 1), step (from 1), feature, branch, cost."""
    import numpy as np
    import polars as pl

    row, step = np.nonzero(run.order >= 0)
    feature = run.order[row, step]
    return pl.DataFrame(
        {
            "row": row + 1,
            "step": step + 1,
            "feature": np.asarray(names, dtype=object)[feature].astype(str).tolist(),
            "branch": np.asarray(run.branch_names, dtype=object)[run.branch[row, step]].astype(str).tolist(),
            "cost": np.asarray(costs, dtype=float)[feature],
        },
        schema_overrides={"feature": pl.String, "branch": pl.String},
    )


def _write_run(steps: pl.DataFrame, run: Any, names: Sequence[str], output: Path, suffix: str) -> None:
    from synafa.files import atomic_path, write_json

    if suffix == ".json":
        rows = [
            {"row": i + 1, "cost": float(cost), "order": [names[j] for j in order if j >= 0]}
            for i, (order, cost) in enumerate(zip(run.order, run.cost))
        ]
        write_json(output, {"format": "synafa-run", "version": 1, "feature_names": list(names), "rows": rows})
        return
    with atomic_path(output) as temporary:
        if suffix == ".csv":
            steps.write_csv(temporary)
        else:
            steps.write_parquet(temporary)


def graph(
    model: Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .html, .svg, .dot or .json.", show_default=False)
    ],
    max_depth: Annotated[int, typer.Option("--max-depth", help="How many measurements deep, from 1.")] = MAX_DEPTH,
    min_share: Annotated[
        float, typer.Option("--min-share", help="Leave out states that fewer training rows reach, 0 to below 1.")
    ] = MIN_SHARE,
    title: Annotated[str, typer.Option("--title", help="Heading of the picture.")] = "Which measurement next?",
    as_json: AsJson = False,
) -> None:
    """Draw a model as a decision graph that can be read, printed and checked.

    Example: `synafa graph model.synafa -o graph.html`
    """
    from synafa.files import write_text
    from synafa.graph import draw
    from synafa.model.storage import load_model

    suffix = check_output(output, (".html", ".svg", ".dot", ".json"))
    drawn = load_model(model).decision_graph(max_depth=max_depth, min_share=min_share)
    if suffix in (".html", ".svg"):
        text = (draw.to_html if suffix == ".html" else draw.to_svg)(drawn, title)
    else:
        text = draw.to_dot(drawn) if suffix == ".dot" else draw.to_json(drawn)
    write_text(output, text)
    cut = draw.cut_sentences(drawn)
    if as_json:
        print_json({"graph": str(output), "nodes": len(drawn.nodes), "edges": len(drawn.edges), "cut": list(cut)})
        return
    say(" ".join([f"{len(drawn.nodes)} states and {len(drawn.edges)} results, written to {output}.", *cut]), output)


def pairs(
    data: Data,
    target: Target,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="How many pairs of each kind.")] = 10,
    bins: Bins = 2,
    drop: Drop = None,
    nearly_numeric: NearlyNumeric = "missing",
    memory: Memory = None,
    checkpoint: Checkpoint = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """List the strongest synergistic and redundant pairs with their atoms, in bits.

    Example: `synafa pairs patients.csv --target died --top 5`
    """
    from synafa.analysis.pairs import rank_pairs, strongest_pairs
    from synafa.information.tables import InformationTables

    source = streamed_source(data, memory, (target,), nearly_numeric, force=bool(scheduler or checkpoint))
    if source is None:
        features, labels = read_labelled(data, target, drop, nearly_numeric)
        names = features.columns
    else:
        streamed = counted(source, target, bins, drop, checkpoint, scheduler)
        names = list(streamed.encoder.feature_names_)
    if len(names) < 2:
        raise SynafaError(f"{str(data)!r} has one feature beside the target; a pair needs two.")
    if source is None:
        found = strongest_pairs(features, labels, top=top, n_bins=bins)
    else:
        tables = InformationTables.from_counts(streamed.counts)
        found = rank_pairs(names, tables.pair, tables.pid(), top)
    if as_json:
        print_json({kind: [pair.as_dict() for pair in group] for kind, group in found.items()})
        return
    from rich.table import Table

    out = console()
    for kind, group in found.items():
        table = Table(title=f"Strongest {kind} pairs (bits)", title_justify="left", box=None, pad_edge=False)
        for name in ("first", "second"):
            table.add_column(name, overflow="fold")
        for name in ("joint", "redundant", "unique 1st", "unique 2nd", "synergy"):
            table.add_column(name, justify="right")
        for pair in group:
            values = (pair.joint, pair.redundant, pair.unique_first, pair.unique_second, pair.synergy)
            table.add_row(pair.first, pair.second, *(f"{value:.4f}" for value in values))
        out.print(table, markup=False)
        out.print()


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the report.")] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """Fit, compare and explain on embedded data in under a minute, and write a report.

    Example: `synafa demo --output demo`
    """
    from synafa.demo.run import run_demo

    run_demo(output, as_json=as_json)
