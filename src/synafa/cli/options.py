"""The options that several commands take: each has one name, one meaning and one line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST = 2**32 - 1  # of counts and seeds: what every library below takes
Data = Annotated[
    Path,
    typer.Argument(
        help="Labelled rows, a CSV or Parquet file, a folder or a pattern 'data/*.parquet'.", show_default=False
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file written by `synafa fit`.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column that holds the class.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Bins = Annotated[int, typer.Option("--bins", help="Bins per feature, 2 to 16.")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Columns to leave out, e.g. identifiers: a,b.")]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="Price list, a CSV with the columns feature,price and, where needed, panel,group,price_in_group.",
    ),
]
Errors = Annotated[
    list[str] | None,
    typer.Option("--errors", help="What wrong decisions cost: true:decided=cost words, or a CSV file."),
]
Known = Annotated[
    list[str] | None, typer.Option("--known", help="Features known from the start, which cost nothing: age,sex.")
]
Unavailable = Annotated[
    list[str] | None, typer.Option("--unavailable", help="Features that nobody can measure here: a,b.")
]
Group = Annotated[
    str | None,
    typer.Option("--group", help="Column that names the patient: rows of one stay together; it is no feature."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MOST, help="Seed of everything that is drawn by lot.")]
NearlyNumeric = Annotated[
    str,
    typer.Option(
        "--nearly-numeric",
        help="What to do with the odd cell of a column of numbers: missing, stop, or text (for the whole column).",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="Stream data that would take more than this, e.g. 4GB; by default half of what is free.",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="A file from which an interrupted count goes on.", show_default=False),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="Count on the Dask cluster at this address: tcp://host:8786.", show_default=False),
]
