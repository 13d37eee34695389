"""`synafa baselines`: the registry of published policies as a table or as JSON."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def baselines(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the published policies that `synafa evaluate` can train."""
    from synafa.baselines import REGISTRY

    if as_json:
        typer.echo(json.dumps([entry.as_row() for entry in REGISTRY.values()], indent=2, ensure_ascii=False))
        return
    lines = [("name", "greedy", "per budget", "title, kind, paper")]
    for entry in REGISTRY.values():
        words = f"{entry.title}: {entry.kind} ({entry.paper})"
        lines.append((entry.name, *("yes" if flag else "no" for flag in (entry.greedy, entry.per_budget)), words))
    for name, greedy, per_budget, words in lines:
        typer.echo(f"{name:<14} {greedy:<7} {per_budget:<11} {words}")
