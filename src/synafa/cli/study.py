"""`synafa study run|status|report`: the study's experiments, how far they are, and their report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import MOST, print_json

study_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Run the study's experiments and write its report.\n\nExample: `synafa study run --quick`",
)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[EXPERIMENT...]", help="Experiments by name; default: all.")
]
ProfileOption = Annotated[str, typer.Option("--profile", help="paper, standard or quick.")]
Quick = Annotated[bool, typer.Option("--quick", help="Cut-down sizes; the same as --profile quick.")]
ResultsOption = Annotated[Path | None, typer.Option("--results", help="Folder of results (default: in the cache).")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MOST, help="Base seed.")]


@study_app.command("run")
def run(
    experiments: Names = None,
    profile: ProfileOption = "standard",
    quick: Quick = False,
    workers: Annotated[int | None, typer.Option("--workers", "-w", help="Local processes (default: cores).")] = None,
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="Address of a Dask scheduler.")] = None,
    results: ResultsOption = None,
    seed: Seed = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the units that would run.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run what is not finished yet. Stop it at any time: the next run goes on where this one ended.

    Example: `synafa study run benchmark gating --profile standard --workers 2`
    """
    from synafa.study.engine.progress import Silent, best_display
    from synafa.study.engine.store import Store
    from synafa.study.engine.unit import with_needs
    from synafa.study.experiments.contract import load_experiments

    settings = _settings(profile, quick, results, seed)
    chosen = load_experiments(experiments or ["all"])
    units = with_needs(unit for experiment in chosen for unit in experiment.units(settings))
    store = Store(settings.results)
    if dry_run:
        _show_plan([unit for unit in units if store.status(unit) != "done"], len(units), as_json)
        return
    display = Silent() if as_json else best_display()
    if scheduler is not None:
        from synafa.study.engine.dask_runner import run_on_dask

        summary = run_on_dask(units, store, scheduler, display)
    else:
        from synafa.study.engine.runner import run_units

        summary = run_units(units, store, workers, display)
    _show_summary(summary, settings, as_json)
    if summary.interrupted:
        raise typer.Exit(130)
    if not summary.complete:
        raise typer.Exit(1)


@study_app.command("status")
def status(
    experiments: Names = None,
    profile: ProfileOption = "standard",
    quick: Quick = False,
    results: ResultsOption = None,
    seed: Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Units done, failed and pending per experiment, time spent and time left.

    Example: `synafa study status --profile standard`
    """
    from synafa.study.engine.progress import duration
    from synafa.study.experiments.contract import load_experiments
    from synafa.study.reporting.status import study_status

    settings = _settings(profile, quick, results, seed)
    lines = study_status(load_experiments(experiments or ["all"]), settings)
    if as_json:
        print_json({"profile": settings.profile, "experiments": [line.as_dict() for line in lines]})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"Study, profile {settings.profile}", title_justify="left")
    table.add_column("experiment")
    for heading in ("units", "done", "failed", "pending", "spent", "left, one core"):
        table.add_column(heading, justify="right")
    for line in lines:
        failed = f"[red]{line.failed}[/red]" if line.failed else "0"
        times = duration(line.seconds_spent), duration(line.seconds_left)
        table.add_row(line.experiment, str(line.units), str(line.done), failed, str(line.pending), *times)
    console = Console()
    console.print(table)
    for line in lines:
        for error in line.errors:
            console.print(f"[red]failed[/red] {escape(error)}", highlight=False)
        for sentence in line.damaged:
            console.print(f"[red]damaged[/red] {escape(sentence)}", highlight=False)
    typer.echo(f"Results: {settings.results}")


@study_app.command("report")
def report(
    experiments: Names = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the report.")] = Path("docs/study"),
    profile: ProfileOption = "standard",
    quick: Quick = False,
    results: ResultsOption = None,
    seed: Seed = 0,
) -> None:
    """Write the report (HTML, Markdown, figures, small result tables) from the results at hand.

    Example: `synafa study report --profile standard --output docs/study`
    """
    from synafa.study.experiments.contract import load_experiments
    from synafa.study.reporting.write import write_report

    settings = _settings(profile, quick, results, seed)
    written = write_report(load_experiments(experiments or ["all"]), settings, output)
    typer.echo(f"{written.summary} The report is {output / 'report.html'}; README.md beside it says the same.")
    for section in written.sections:
        for sentence in section.results.damaged:
            typer.echo(f"damaged {sentence}", err=True)
        if section.problem:
            typer.echo(f"{section.name} could not be reported: {section.problem}", err=True)
    if any(section.problem for section in written.sections):
        raise typer.Exit(1)


def _settings(profile: str, quick: bool, results: Path | None, seed: int) -> Any:
    from synafa.study.engine.settings import Settings

    return Settings.detect("quick" if quick else profile, seed, results)


def _show_plan(open_units: list[Any], total: int, as_json: bool) -> None:
    from synafa.study.engine.progress import duration
    from synafa.study.engine.speed import core_speed

    speed = core_speed()
    if as_json:
        plan = [
            {
                **unit.to_dict(),
                "key": unit.key,
                "needs": [need.key for need in unit.needs],
                "expected_seconds": round(unit.cost / speed, 2),
            }
            for unit in open_units
        ]
        print_json(plan)
        return
    for unit in open_units:
        typer.echo(f"{unit.key}  {duration(unit.cost / speed):>8}  {unit.label}")
    expected = duration(sum(unit.cost for unit in open_units) / speed)
    typer.echo(
        f"{len(open_units)} of {total} units would run, about {expected} on one core "
        f"(this core is {speed:.2f} times as fast as the one that units were timed on)."
    )


def _show_summary(summary: Any, settings: Any, as_json: bool) -> None:
    from synafa.study.engine.progress import duration

    if as_json:
        facts = {
            "profile": settings.profile,
            "total": summary.total,
            "already": summary.already,
            "ran": len(summary.ran),
            "failed": summary.failed,
            "blocked": summary.blocked,
            "damaged": summary.damaged,
            "interrupted": summary.interrupted,
            "seconds": round(summary.seconds, 1),
        }
        print_json(facts)
        return
    words = "Interrupted" if summary.interrupted else "Finished"
    typer.echo(
        f"{words} after {duration(summary.seconds)}: {len(summary.ran)} units ran, {summary.already} were there, "
        f"{len(summary.failed)} failed, {len(summary.blocked)} blocked, of {summary.total}; profile {settings.profile}."
    )
    for sentence in summary.damaged:
        typer.echo(f"damaged  {sentence.replace('counts as not computed', 'was computed again')}")
    for label, error in summary.failed.items():
        typer.echo(f"failed   {label}: {error.splitlines()[-1] if error else ''}")
    for label in summary.blocked:
        typer.echo(f"blocked  {label}")
