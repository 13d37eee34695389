"""`synafa scan`: which pairs of features are synergistic or redundant about a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import MOST, check_output, print_json, tell
from synafa.cli.streaming import memory_limit, streamed_source, table_bytes, whole

if TYPE_CHECKING:
    import polars as pl

    from synafa.analysis.scan import HalvesResult, ScanResult
    from synafa.information.counts import PairCounts
    from synafa.stream.sources import Source


class Method(StrEnum):
    exact = "exact"
    sampled = "sampled"


def scan(
    data: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file, a folder, or a pattern in quotes.", show_default=False)
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="The column that holds the class.", show_default=False)],
    method: Annotated[Method, typer.Option(help="Exact p-values, or 500 and then 2,000 permutations.")] = Method.exact,
    fdr: Annotated[float, typer.Option(help="False discovery rate, for each tail.")] = 0.05,
    halves: Annotated[
        bool, typer.Option("--halves", help="Also discover in a random half and confirm in the other.")
    ] = False,
    max_missing: Annotated[
        float, typer.Option(help="Leave out features with at least this share of empty cells.")
    ] = 0.35,
    min_rows: Annotated[int, typer.Option(min=1, max=MOST, help="Complete cases that a pair needs.")] = 200,
    top: Annotated[int, typer.Option(min=1, max=MOST, help="Pairs to print of each kind.")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=MOST, help="Seed of the permutations and of the halves.")] = 0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write all pairs to this Parquet file.")] = None,
    heatmap: Annotated[Path | None, typer.Option(help="Draw a heat map into this .png, .svg or .pdf file.")] = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Test all pairs of features for synergy and redundancy about a target.

    Example: `synafa scan patients.csv --target died --halves --heatmap pairs.svg -o pairs.parquet`
    """
    from synafa.analysis.scan import discovery_validation, scan_counts
    from synafa.analysis.scan import scan as run_scan
    from synafa.errors import SynafaError
    from synafa.table.encoder import TableEncoder
    from synafa.table.reading import read_table, split_target

    if not 0.0 < fdr < 1.0:
        raise SynafaError(f"--fdr must lie between 0 and 1, got: {fdr}.")
    if output is not None:
        check_output(output, (".parquet", ".pq"))
    if heatmap is not None and heatmap.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise SynafaError(f"Cannot draw into {str(heatmap)!r}; give a name that ends in .png, .svg or .pdf.")
    source = streamed_source(data, memory, as_text=(target,))
    large = source is not None and table_bytes(source) > memory_limit(memory)
    settings: dict[str, Any] = {
        "method": method.value,
        "q": fdr,
        "max_missing": max_missing,
        "min_rows": min_rows,
        "seed": seed,
    }
    confirmed = None
    if source is not None and large:
        if halves:
            raise SynafaError("--halves needs the rows in memory; raise --memory, or scan without it.")
        counts, names = _streamed(source, target, quiet=as_json)
        del settings["max_missing"]
        with _progress(quiet=as_json) as progress:
            result = scan_counts(counts, names, progress=progress, output=output, **settings)
    else:
        table = read_table(data, as_text=(target,), tell=tell) if source is None else whole(source)
        features, y = split_target(table, target)
        encoder = TableEncoder()
        values, names = encoder.fit_transform(features), encoder.feature_names_
        with _progress(quiet=as_json) as progress:
            result = run_scan(values, y, names, progress=progress, output=output, **settings)
            confirmed = discovery_validation(values, y, names, progress=progress, **settings) if halves else None
    if heatmap is not None:
        from synafa.analysis.scan_draw import draw_heatmap

        draw_heatmap(result, heatmap, f"{data.name}: information about {target}")
    if as_json:
        print_json(_as_json(result, confirmed))
    else:
        _print(result, confirmed, method.value, top)
        for path in (output, heatmap):
            if path is not None:
                typer.echo(f"wrote {path}")


def _streamed(source: Source, target: str, quiet: bool) -> tuple[PairCounts, tuple[str, ...]]:
    """Counts of a table larger than memory, no cell of which is empty."""
    from synafa.errors import SynafaError
    from synafa.stream.passes import stream_counts
    from synafa.stream.progress import Line

    shown = None if quiet else Line()
    try:
        found = stream_counts(source, target, progress=shown, keep=0)
    finally:
        if shown is not None:
            shown.close()
    names = found.encoder.feature_names_
    gaps = [name for name, missing in zip(names, found.missing) if missing]
    if gaps:
        raise SynafaError(
            f"The column {gaps[0]!r} has empty cells, and every pair is scanned on its complete rows; a table larger "
            "than the memory must have none: fill them, leave the column out, or raise --memory."
        )
    return found.counts, names


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Pairs done and time left on standard error, gone when the work is done."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("pairs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("pairs", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _as_json(result: ScanResult, confirmed: HalvesResult | None) -> dict[str, Any]:
    from synafa.analysis.scan import TAILS

    value: dict[str, Any] = {
        "features": list(result.feature_names),
        "dropped": list(result.dropped),
        "method": result.method,
        "fdr": result.q,
        "seed": result.seed,
        "tested": result.n_tested,
        "significant": {tail: result.significant(tail).height for tail in TAILS},
        "pairs": result.table.to_dicts(),
    }
    if confirmed is not None:
        value["halves"] = {
            tail: {"discovered": confirmed.discovered(tail), "replicated": confirmed.replicated(tail)} for tail in TAILS
        } | {"pairs": confirmed.confirmation.to_dicts()}
    return value


def _print(result: ScanResult, confirmed: HalvesResult | None, asked: str, top: int) -> None:
    from rich.console import Console

    from synafa.analysis.scan import TAILS

    console = Console()
    tested = result.table.height
    console.print(
        f"{len(result.feature_names)} features, {tested} pairs, {result.n_tested} tested "
        f"({result.method}, FDR {result.q:g})" + (f"; left out: {', '.join(result.dropped)}" if result.dropped else ""),
        highlight=False,
        markup=False,
    )
    if result.method != asked:
        console.print(
            "More than two classes: the exact test does not apply, permutations were sampled.", style="yellow"
        )
    for tail in TAILS:
        chosen = result.significant(tail)
        console.print(_table(chosen.head(top), tail, chosen.height), highlight=False)
    if confirmed is not None:
        for tail in TAILS:
            found, again = confirmed.discovered(tail), confirmed.replicated(tail)
            share = f" ({again / found:.1%})" if found else ""
            console.print(
                f"Halves ({confirmed.n_discovery} and {confirmed.n_validation} rows): {again} of {found} pairs "
                f"with significant {tail} replicated{share}.",
                highlight=False,
            )


def _table(rows: pl.DataFrame, tail: str, total: int) -> Any:
    from rich.markup import escape
    from rich.table import Table

    order = "largest synergy first" if tail == "synergy" else "furthest below the null first"
    table = Table(
        title=f"significant {tail}: {total} pairs, {order}",
        title_justify="left",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for heading in ("pair", "rows", "joint", "redund.", "synergy", "z", "p", "q"):
        table.add_column(heading, justify="left" if heading == "pair" else "right", no_wrap=True)
    for row in rows.iter_rows(named=True):
        bits = [f"{row[name]:.4f}" for name in ("joint", "redundant", "synergy")]
        p, q = _pvalue(row[f"p_{tail}"], row[f"log10_p_{tail}"]), _short(row[f"q_{tail}"])
        table.add_row(escape(f"{row['a']} / {row['b']}"), f"{row['n']:,}", *bits, f"{row['z']:+.1f}", p, q)
    return table


def _pvalue(p: float, log10: float) -> str:
    return _short(p) if p > 0 else f"1e{log10:.0f}"


def _short(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "<1e-300" if p < 1e-300 else f"{p:.0e}"
