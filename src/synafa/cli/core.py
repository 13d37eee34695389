"""`synafa acquire`, `graph`, `pairs` and `demo`: a model or a table in, a run, a picture or a report out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import MOST, check_output, console, print_json, read_labelled, say, split_names, tell
from synafa.cli.streaming import acquire_stream, counted, streamed_source
from synafa.errors import SynafaError
from synafa.graph.shape import MAX_DEPTH, MIN_SHARE

if TYPE_CHECKING:
    import polars as pl


def acquire(
    model: options.Model,
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
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a model over complete rows: what it would have measured, in which order and why.

    Example: `synafa acquire model.synafa patients.csv -o run.csv`
    """
    from synafa.model.stopping import step_costs
    from synafa.model.storage import load_model
    from synafa.table.reading import read_table

    suffix = check_output(output, (".csv", ".parquet", ".json"))
    loaded = load_model(model)
    policy = getattr(loaded, "policy_", loaded)
    names = policy.encoder_.feature_names_
    asked: dict[str, Any] = {"unavailable": split_names(unavailable, names), "budget": budget}
    if not hasattr(policy, "tree_"):
        asked["on_stop"] = on_stop
    elif on_stop != "stop":
        raise SynafaError(f"--on-stop {on_stop} is for a synafa policy; a plan tree ends where nothing pays.")

    def answer(table: pl.DataFrame, where: str) -> tuple[Any, pl.DataFrame]:
        run = loaded.acquire(pick_columns(table, names, where), **asked)
        return run, run_table(run, names, step_costs(policy, run))

    source = streamed_source(rows, memory)
    if source is None:
        run, steps = answer(read_table(rows, tell=tell), repr(str(rows)))
        _write_run(steps, run, names, output, suffix)
        steps_taken = int((run.order >= 0).sum())
        sums: dict[str, Any] = {"rows": len(run.cost), "measurements": steps_taken, "cost": float(run.cost.sum())}
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
        f"{summary['mean_cost']:.2f} each on average, {_sets(summary['distinct_sets'])}. "
        f"Written to {output}.",
        output,
    )


def _sets(count: int) -> str:
    return "the same set for all" if count == 1 else f"{count:,} different sets"


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
    """One line per measurement: row (from 1), step (from 1), feature, branch, cost; `costs` as of `step_costs`."""
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
            "cost": np.asarray(costs, dtype=float)[row, step],
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
    model: options.Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .html, .svg, .dot or .json.", show_default=False)
    ],
    max_depth: Annotated[int, typer.Option("--max-depth", help="How many measurements deep, from 1.")] = MAX_DEPTH,
    min_share: Annotated[
        float, typer.Option("--min-share", help="Leave out states that fewer training rows reach, 0 to below 1.")
    ] = MIN_SHARE,
    title: Annotated[str, typer.Option("--title", help="Heading of the picture.")] = "Which measurement next?",
    as_json: options.AsJson = False,
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
    data: options.Data,
    target: options.Target,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="How many pairs of each kind.")] = 10,
    bins: options.Bins = 2,
    drop: options.Drop = None,
    nearly_numeric: options.NearlyNumeric = "missing",
    memory: options.Memory = None,
    checkpoint: options.Checkpoint = None,
    scheduler: options.Scheduler = None,
    as_json: options.AsJson = False,
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
    as_json: options.AsJson = False,
) -> None:
    """Fit, compare and explain on embedded data in under a minute, and write a report.

    Example: `synafa demo --output demo`
    """
    from synafa.demo.run import run_demo

    run_demo(output, as_json=as_json)
