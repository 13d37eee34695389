"""`synafa report`: proof on one's own table, as one page and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synafa.cli import options
from synafa.cli.common import check_output, plain, print_json, read_labelled, say, split_names
from synafa.errors import SynafaError


def report(
    data: options.Data,
    target: options.Target,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write: .html, or .json.", show_default=False)
    ],
    prices: options.Prices = None,
    errors: options.Errors = None,
    budgets: Annotated[
        str | None, typer.Option("--budgets", help="Budgets to compare, with commas; 'none' for no limit.")
    ] = None,
    known: options.Known = None,
    unavailable: options.Unavailable = None,
    group: options.Group = None,
    by: Annotated[str | None, typer.Option("--by", help="Column whose parts are reported one by one.")] = None,
    seed: options.Seed = 0,
    drop: options.Drop = None,
    nearly_numeric: options.NearlyNumeric = "missing",
    as_json: options.AsJson = False,
) -> None:
    """Prove on your own table what a model is worth, at which budget, against what is simpler.

    Example: `synafa report patients.csv --target died --budgets 1,2,4,8 --by sex -o report.html`
    """
    from synafa.cli.progress import progress_bar
    from synafa.files import write_json, write_text
    from synafa.money.prices import PriceList
    from synafa.proof.findings import findings
    from synafa.proof.page import lines, report_page
    from synafa.proof.prove import Settings, prove
    from synafa.proof.table import ProofTable

    suffix = check_output(output, (".html", ".json"))
    wanted = _budgets(budgets)
    features, labels = read_labelled(data, target, drop, nearly_numeric)
    table = ProofTable.of(features, labels, target=target, group=group, by=by, seed=seed)
    names, columns = table.features.columns, features.columns
    at_start, never = (
        tuple(name for name in split_names(words, columns) if name in names) for words in (known, unavailable)
    )
    listed = None
    if prices is not None:
        listed = PriceList.from_csv(prices, names, known=at_start, left_out=[*columns, *split_names(drop)])
    settings = Settings(wanted, listed, errors or None, at_start, never, seed)
    with progress_bar("Proving") as progress:
        proof = prove(table, settings, progress)
    found = findings(proof)
    if suffix == ".html":
        write_text(output, report_page(found, proof, data.name))
    else:
        write_json(output, plain(found))
    if as_json:
        print_json(found | {"report": str(output)})
        return
    for line in lines(found):
        say(line, output)
    say(f"Written to {output}.", output)


def _budgets(text: str | None) -> tuple[float, ...]:
    words = split_names([text] if text else [])
    try:
        return tuple(float("inf") if word.lower() in ("none", "inf") else float(word) for word in words)
    except ValueError:
        raise SynafaError(f"--budgets must be numbers with commas, or 'none' for no limit, got: {text!r}.") from None
