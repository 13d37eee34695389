"""`synafa evaluate`: policies on a dataset of the study or one's own table, under hard budgets.

Prints every policy's accuracy, balanced accuracy and AUROC, and the paired differences between the first policy and the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import MOST, check_output, console, print_json, split_names
from synafa.errors import SynafaError

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

Progress = Callable[[float, str], None]


class Profile(StrEnum):
    paper = "paper"
    standard = "standard"
    quick = "quick"


def evaluate(
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="A name from `synafa data list`.", show_default=False)
    ] = None,
    own: Annotated[
        Path | None, typer.Option("--data", help="One's own table in place of a dataset: CSV or Parquet.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="With --data: the class's column.")] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="With --data: CSV feature,price,panel,group,price_in_group.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="With --data: column of rows that stay together.")
    ] = None,
    drop: options.Drop = None,
    policies: Annotated[
        str, typer.Option("--policies", "-p", help="Names with commas; the first is compared with each of the others.")
    ] = "synafa,synafa-no-pairs,random,static-single",
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="A policy of one's own, module:Name; several times.")
    ] = None,
    budgets: Annotated[str | None, typer.Option(help="Hard budgets with commas; the study's own if left out.")] = None,
    instance: Annotated[int, typer.Option(min=0, max=MOST, help="Seed of the split, and of a generated dataset.")] = 0,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", help="Of a generated dataset, e.g. alpha=0.5.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How long networks are trained.")] = Profile.standard,
    seed: Annotated[int, typer.Option(min=0, max=MOST, help="Seed of the networks and of random acquisition.")] = 0,
    early_stop: Annotated[
        bool, typer.Option("--early-stop", help="Let a policy's stop stand (the uncorrected harness).")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the table to this Parquet file.")] = None,
    differences: Annotated[Path | None, typer.Option(help="Write the paired differences to this Parquet file.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure policies on a dataset under hard budgets.

    Example: `synafa evaluate --dataset physionet --policies synafa,random,static-single --budgets 5,10`, or
    `synafa evaluate --data my.csv --target y --policies synafa,plan-tree,aaco --policy my_module:MyPolicy`
    """
    from synafa.evaluation import Evaluation
    from synafa.evaluation.own_policy import find_policy, own_policy
    from synafa.evaluation.policies import build_policies, check_policy_names

    names = check_policy_names(split_names([policies]))
    for path in (output, differences):
        if path is not None:
            check_output(path, (".parquet",))
    wanted = _budgets(budgets)
    for spec in policy or ():
        find_policy(spec)  # a misspelt one is named before anything is computed
    if (dataset is None) == (own is None):
        raise SynafaError("Name either a dataset of the study (--dataset) or a table of your own (--data).")
    if own is not None:
        data = _own_table(own, target, prices, group, drop, wanted, instance)
    else:
        data = _load(str(dataset), instance, parameter)
    chosen = wanted or data.budgets
    with _progress(quiet=as_json) as progress:
        from synafa.neural import shared_classifier

        classifier = shared_classifier(data, profile.value, seed=seed, progress=progress)
        built = build_policies(names, data, chosen, classifier, profile.value, seed, progress, not early_stop)
        built |= {spec: own_policy(spec, data, chosen, seed) for spec in policy or ()}
        run = Evaluation(built, data, classifier, chosen, not early_stop, profile.value, progress)
        table = run.table(output=output)
        paired = run.compare(names[0], output=differences) if len(built) > 1 else None
    if as_json:
        print_json({"policies": table.to_dicts(), "differences": [] if paired is None else paired.to_dicts()})
        return
    from rich.markup import escape

    out = console()
    size = f"{len(data.test):,} test rows, {data.n_features} features"
    out.print(f"[bold]{escape(data.key)}[/], {size}, profile {profile.value}\n")
    out.print(_policies_table(table))
    if paired is not None:
        out.print(f"\n[bold]{names[0]}[/] minus the others, in percentage points; 95 % intervals, * without 0\n")
        out.print(_differences_table(paired))


def _budgets(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in split_names([text] if text else []))
    except ValueError:
        raise SynafaError(f"--budgets must be numbers with commas, got: {text!r}.") from None


def _own_table(
    path: Path, target: str | None, prices: Path | None, group: str | None, drop: list[str] | None,
    budgets: tuple[float, ...], instance: int,
) -> Any:  # fmt: skip
    from synafa.cli.common import tell
    from synafa.datasets import Dataset

    if target is None:
        raise SynafaError("Say which column holds the class: --target NAME.")
    return Dataset.from_file(
        path, target, prices=prices, group=group, drop=split_names(drop), budgets=budgets, instance=instance, tell=tell
    )


def _load(name: str, instance: int, words: list[str] | None) -> Any:
    from synafa.datasets import load

    parameters: dict[str, float] = {}
    for word in words or ():
        key, _, value = word.partition("=")
        try:
            parameters[key.strip()] = float(value)
        except ValueError:
            raise SynafaError(f"Cannot read --parameter {word!r}; write name=number, e.g. alpha=0.5.") from None
    return load(name, instance=instance, **parameters)


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A progress bar on standard error, gone when the work is done."""
    if quiet:
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console(error=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda share, text: bar.update(task, completed=share, description=text)


def _policies_table(table: pl.DataFrame) -> Table:
    shown = _table("policy", "budget", "accuracy", "balanced", "AUROC", "cost", "sets", "fallback")
    last = None
    for row in table.iter_rows(named=True):
        shown.add_row(
            row["policy"] if row["policy"] != last else "",
            f"{row['budget']:g}",
            f"{row['accuracy']:.4f}",
            f"{row['balanced_accuracy']:.4f}",
            f"{row['auroc']:.4f}",
            f"{row['mean_cost']:.2f}",
            f"{row['distinct_sets']:,}",
            f"{row['fallback_share']:.1%}",
        )
        last = row["policy"]
    return shown


def _differences_table(paired: pl.DataFrame) -> Table:
    shown = _table("against", "budget", "accuracy", "balanced", "AUROC", "threshold-matched")
    last = None
    for row in paired.iter_rows(named=True):
        shown.add_row(
            row["against"] if row["against"] != last else "",
            f"{row['budget']:g}",
            _points(row, "accuracy", interval=True),
            _points(row, "balanced_accuracy"),
            _points(row, "auroc"),
            _points(row, "matched", interval=True),
        )
        last = row["against"]
    return shown


def _points(row: dict[str, Any], metric: str, interval: bool = False) -> str:
    """A difference in percentage points, starred where its interval excludes 0."""
    difference, low, high = (row.get(f"{metric}_{part}") for part in ("difference", "low", "high"))
    if difference is None:
        return ""
    starred = low is not None and high is not None and (low > 0 or high < 0)
    shown = f"{100 * difference:+.1f}{'*' if starred else ' '}"
    if not interval or low is None or high is None:
        return shown
    return rf"{shown} \[{100 * low:+.1f}, {100 * high:+.1f}]"


def _table(*titles: str) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for position, title in enumerate(titles):
        table.add_column(title, justify="left" if position == 0 else "right", no_wrap=True)
    return table
