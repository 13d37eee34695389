"""`synafa baselines`: the registry of published policies as a table or as JSON."""

from __future__ import annotations

import typer

from synafa.cli import options
from synafa.cli.common import print_json

_LINE = "{:<17} {:<7} {:<11} {}"


def baselines(
    as_json: options.AsJson = False,
) -> None:
    """List the published policies that `synafa evaluate` can train.

    Example: `synafa baselines --json`
    """
    from synafa.baselines import REGISTRY

    if as_json:
        print_json([entry.as_row() for entry in REGISTRY.values()])
        return
    typer.echo(_LINE.format("name", "greedy", "per budget", "title, kind, paper"))
    for entry in REGISTRY.values():
        greedy, per_budget = ("yes" if flag else "no" for flag in (entry.greedy, entry.per_budget))
        typer.echo(_LINE.format(entry.name, greedy, per_budget, f"{entry.title}: {entry.kind} ({entry.paper})"))
