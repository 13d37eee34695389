"""`synafa card`: a model's policy on one printable page, the same that `get_rules()` and `--json` say."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from synafa.cli import options
from synafa.cli.common import check_output, print_json, say
from synafa.errors import SynafaError


def card(
    model: options.Model,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write: .html, .svg, .pdf or .json.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a model on one page that can be printed and followed by hand.

    Example: `synafa card model.synafa -o card.pdf`
    """
    from synafa.model.storage import load_bedside
    from synafa.report.card import SUFFIXES, write_card

    if output is None and not as_json:
        raise SynafaError("Say where the card goes with -o card.html, .svg, .pdf or .json, or ask for --json.")
    suffix = "" if output is None else check_output(output, SUFFIXES)
    rules = load_bedside(model).get_rules()
    if output is not None:
        write_card(rules, output, suffix, model.name, date.today().isoformat())
    if as_json:
        print_json(rules)
    elif output is not None:
        boxes = rules["root"]["cases"]
        say(f"The card of {model.name}, judged on {boxes:,} cases, is in {output}.", output)
