"""`synafa data`: which of the study's datasets are on this machine, and downloading them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from synafa.cli import options
from synafa.cli.common import print_json

data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The study's datasets: what is here, and getting the rest.\n\nExample: `synafa data list`",
)


@data_app.command("list")
def list_datasets(as_json: options.AsJson = False) -> None:
    """Show every dataset with its state, size, licence and source.

    Example: `synafa data list --json`
    """
    from synafa.datasets import describe

    rows = describe()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    from rich.console import Console
    from rich.table import Table

    colours = {"present": "green", "missing": "yellow", "altered": "red"}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "state", "size", "licence", "source"):
        table.add_column(title, no_wrap=title != "source", justify="right" if title == "size" else "left")
    for row in rows:
        colour = colours.get(row.state, "dim")
        source = f"{row.title}. {row.source}" + (f" ({row.note})" if row.note else "")
        table.add_row(row.name, f"[{colour}]{row.state}[/]", _size(row.size), row.licence, source)
    Console().print(table)


@data_app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="A name from `synafa data list`.")],
    as_json: options.AsJson = False,
) -> None:
    """Download a dataset's files into the cache, unless they are there already.

    Example: `synafa data fetch bank`
    """
    from synafa.datasets import fetch

    paths = fetch(name, progress=not as_json)
    if as_json:
        print_json({"name": name, "files": [str(path) for path in paths]})
    elif paths:
        for path in paths:
            typer.echo(str(path))
    else:
        typer.echo(f"{name} is generated; there is nothing to fetch.")


def _size(size: int) -> str:
    if not size:
        return ""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
