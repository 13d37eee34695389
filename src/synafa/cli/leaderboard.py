"""`synafa leaderboard`: mean ranks of all policies from stored results; with `--policy` or `--table`, one's own too.

What is missing is computed by the study's own units, so that it is stored, resumed and judged like everything else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import console, print_json, split_names
from synafa.errors import SynafaError

_QUICK_POLICIES = "synafa,aaco,permutation,static-single,random"


def leaderboard(
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="A policy of your own, module:Class; may be repeated.")
    ] = None,
    table: Annotated[Path | None, typer.Option("--table", help="A table of your own, CSV or Parquet.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="The column of that table with the class.")] = None,
    tables: Annotated[
        str | None, typer.Option("--tables", help="Only these tables of the leaderboard, e.g. ckd,cube.")
    ] = None,
    policies: Annotated[
        str, typer.Option("--policies", help="Which published policies meet a table of your own.")
    ] = _QUICK_POLICIES,
    profile: Annotated[str, typer.Option("--profile", help="paper, standard or quick.")] = "standard",
    workers: Annotated[int | None, typer.Option("--workers", help="Processes; one a core by default.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="Folder of results.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Rank policies by AUROC over tables and budgets, with the critical difference and what they cost.

    Example: `synafa leaderboard --policy mypackage.policies:Mine --tables ckd,actg175`
    """
    from synafa.evaluation.own_policy import find_policy
    from synafa.study.engine.progress import Silent, best_display
    from synafa.study.engine.results import Results
    from synafa.study.engine.runner import run_units
    from synafa.study.engine.settings import Settings
    from synafa.study.engine.store import Store
    from synafa.study.experiments import leaderboard as board_module

    settings = Settings.detect(profile, 0, results)
    own = list(policy or ())
    for where in own:
        find_policy(where)  # a misspelt one is named before anything runs
    listed = _boards(board_module.boards(settings), tables)
    if table is not None:
        listed = [_own_board(table, target, split_names([policies]))]
    wanted = [unit for board in listed for unit in board_module.board_units(settings, board)]
    new = [unit for board in listed for unit in board_module.board_units(settings, board, own)]
    to_run = [*wanted, *new] if table is not None else new
    if to_run:
        store, display = Store(settings.results), Silent() if as_json else best_display()
        summary = run_units(to_run, store, workers, display)
        if summary.failed:
            label, error = next(iter(summary.failed.items()))
            raise SynafaError(f"{label} failed: {error.splitlines()[-1]}")
    found = Results.read([*wanted, *new], settings)
    _show(board_module.tables(found, listed), as_json)


def _boards(boards: list[Any], names: str | None) -> list[Any]:
    if names is None:
        return boards
    known = {board.dataset: board for board in boards}
    chosen = split_names([names])
    for name in chosen:
        if name not in known:
            raise SynafaError(f"The leaderboard has no table {name!r} here; choose from {', '.join(known)}.")
    return [known[name] for name in chosen]


def _own_board(path: Path, target: str | None, policies: list[str]) -> Any:
    from synafa.cli.common import tell
    from synafa.datasets import Dataset
    from synafa.evaluation.policies import check_policy_names
    from synafa.study.experiments.leaderboard import Board
    from synafa.study.experiments.shared import OWN_FILE

    if target is None:
        raise SynafaError("Name the column with the class: --target.")
    data = Dataset.from_file(path, target, tell=tell)
    methods = check_policy_names(policies)
    where = f"{OWN_FILE}{path.resolve()}"
    # the content is part of the identity: a changed file is another table
    parameters = {"target": target, "content": data.fingerprint()}
    return Board(path.stem, where, data.budgets, (0,), tuple(methods), parameters)


def _show(made: list[Any], as_json: bool) -> None:
    from synafa.study.evidence.tables import table_cells, table_header

    if as_json:
        print_json(
            {
                table.label: [dict(zip(table_header(table), cells)) for cells in table_cells(table)]
                for table in made
                if table.rows
            }
        )
        return
    from rich.markup import escape
    from rich.table import Table

    out = console()
    for table in made:
        if not table.rows:
            continue
        shown = Table(title=escape(table.title), title_justify="left")
        for name in table_header(table):
            shown.add_column(escape(name))
        for cells in table_cells(table):
            shown.add_row(*(escape(cell) for cell in cells))
        out.print(shown)
        if table.note:
            out.print(escape(table.note), style="dim")
    if not any(table.rows for table in made):
        out.print("No results yet: run `synafa study run leaderboard`, or give --policy or --table.")
