"""`synafa fit`: a labelled table and its prices become a model, and what looks wrong in the table is said before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synafa.cli import options
from synafa.cli.common import check_output, console, number, print_json, read_labelled, split_names
from synafa.cli.streaming import counted, streamed_source
from synafa.errors import SynafaError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from synafa.model.classifier import AcquisitionClassifier
    from synafa.policy.synafa import SynAFA
    from synafa.table.suspicious import Suspicion

POLICIES = ("plan-tree", "synafa")
MAX_BINS = 16
COST_WEIGHT = 0.01  # bits that a measurement of average price must earn


def fit(
    data: options.Data,
    target: options.Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            help="plan-tree (complete plans, judged on held-out rows; the default) or synafa (exact pairs; the default "
            "for tables that are streamed).",
        ),
    ] = None,
    prices: options.Prices = None,
    costs: Annotated[
        list[str] | None,
        typer.Option("--costs", help="name=cost words, or a CSV or JSON file; 1 where nothing is said."),
    ] = None,
    errors: options.Errors = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            "-b",
            help="What the measurements of one case may cost. Without it there is no limit: a case ends where "
            "nothing left is worth its price.",
        ),
    ] = None,
    enough: Annotated[
        str | None,
        typer.Option(
            "--enough",
            help="Stop a case when its class is this probable: 0.95. Without it a plan tree learns from which "
            "probability going on hardly changes a decision; never: a case ends where its plan does.",
        ),
    ] = None,
    most: Annotated[int | None, typer.Option("--most", min=0, help="The largest number of measurements.")] = None,
    floor: Annotated[
        str | None,
        typer.Option(
            "--floor",
            help="Stop a case that is ruled out or in, kind:class=share with the kind sensitivity, npv or ppv: "
            "sensitivity:ill=0.95. Three of ten rows are kept from fitting and calibrate it, with 95 % confidence.",
        ),
    ] = None,
    known: options.Known = None,
    unavailable: options.Unavailable = None,
    group: options.Group = None,
    drop: options.Drop = None,
    nearly_numeric: options.NearlyNumeric = "missing",
    seed: options.Seed = 0,
    bins: options.Bins = 2,
    cost_weight: Annotated[
        float | None,
        typer.Option(
            "--cost-weight", help="synafa: bits that one unit of cost must earn; without it 0.01 at the average price."
        ),
    ] = None,
    affordability: Annotated[
        str, typer.Option("--affordability", help="synafa: strict, pairs, or deployed (the paper's rule).")
    ] = "strict",
    pair_branch: Annotated[bool, typer.Option("--pair-branch/--no-pair-branch", help="synafa: look for pairs.")] = True,
    memory: options.Memory = None,
    checkpoint: options.Checkpoint = None,
    scheduler: options.Scheduler = None,
    as_json: options.AsJson = False,
) -> None:
    """Learn from labelled rows which measurement to take next, and save the model.

    Example: `synafa fit patients.csv --target died --prices prices.csv --known age,sex --budget 200 -o model.synafa`
    """
    from synafa.cli.progress import progress_bar
    from synafa.compiling import announced
    from synafa.table.labelled import split_group
    from synafa.table.suspicious import check_target

    if policy is not None and policy not in POLICIES:
        raise SynafaError(f"--policy must be one of {', '.join(POLICIES)}, got: {policy!r}.")
    check_output(output, ())
    _check_synafa(bins, cost_weight)
    settings: dict[str, Any] = {
        "budget": budget,
        "bins": bins,
        "cost_weight": cost_weight,
        "affordability": affordability,
    }
    settings["pair_branch"] = pair_branch
    settings["stop"] = _stop(enough, most, floor)
    source = streamed_source(data, memory, (target,), nearly_numeric, force=bool(scheduler or checkpoint))
    if source is not None:
        if policy == "plan-tree" or errors or group or settings["stop"]:
            raise SynafaError(
                "A plan tree, --errors, --group, --enough, --most and --floor need all rows in memory; raise --memory, "
                "give fewer rows, or leave them out and take --policy synafa."
            )
        found = counted(source, target, bins, drop, checkpoint, scheduler)
        _no_free_text(found.encoder)
        columns = list(found.encoder.feature_names_)
        at_start, never = split_names(known, columns), split_names(unavailable, columns)
        rule = _synafa(_prices(prices, costs, columns, columns, at_start), settings)
        rule.from_streamed(found, known=at_start, unavailable=never, target=target).save(output)
        _report(_described(rule, "synafa", columns, found.counts.n_rows, output, []), output, as_json)
        return
    policy = policy or "plan-tree"
    if enough is None and policy == "plan-tree" and not errors:
        settings["stop"] = {"probability": "learnt"} | (settings["stop"] or {})
    features, labels = read_labelled(data, target, drop, nearly_numeric)
    groups, features = split_group(features, group)
    check_target(labels, target)
    columns = features.columns
    if policy == "plan-tree":
        from synafa.plan.inputs import check_width

        check_width(len(columns), _n_classes(labels))
    kept, suspicions = _look(features, labels, seed)
    names = kept.columns
    at_start = [name for name in split_names(known, columns) if name in names]
    never = [name for name in split_names(unavailable, columns) if name in names]
    spec = _prices(prices, costs, [*columns, *split_names(drop)], names, at_start)
    options: dict[str, Any] = {"known": at_start, "unavailable": never, "target": target}
    alone = policy == "synafa" and _is_wide(names, bins, labels, bool(errors or settings["stop"]))
    model: Any = _synafa(spec, settings) if alone else _model(policy, spec, errors, seed, settings)
    options |= {} if alone else {"groups": groups}
    with progress_bar("Learning") as tell, announced(lambda text: tell(0.0, text)):
        model.fit(kept, labels, **options, progress=tell)
    model.save(output)
    fitted = model if alone else model.policy_
    summary = _described(fitted, policy, names, kept.height, output, suspicions)
    if not alone and model.stop_ is not None:
        summary["stop"] = model.stop_.describe()
        if model.stop_.floor is not None:
            summary["floor"] = model.stop_.floor.text
    _report(summary, output, as_json)


def _stop(enough: str | None, most: int | None, floor: str | None) -> dict[str, Any] | None:
    """The stop rule of `--enough`, `--most` and `--floor`, checked before any work is done."""
    from synafa.model.stopping import wanted_stop

    stop: dict[str, Any] = {"probability": None, "max_measurements": most}
    if enough not in (None, "never"):
        try:
            stop["probability"] = float(enough)
        except ValueError:
            raise SynafaError(f"--enough must be a probability such as 0.95, or never, got: {enough!r}.") from None
    if floor is not None:
        kind, _, rest = floor.partition(":")
        label, _, share = rest.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            value = float("nan")
        if kind not in ("sensitivity", "npv", "ppv") or not label or not 0 < value < 1:
            raise SynafaError(f"Cannot read --floor {floor!r}; write kind:class=share, as in sensitivity:ill=0.95.")
        stop["floor"] = (kind, label, value)
    given = {name: value for name, value in stop.items() if value is not None}
    wanted_stop(given)
    return given or None


def _no_free_text(encoder: Any) -> None:
    """Texts of a column that looks like names or notes do not go into a model file."""
    from synafa.table.encoder import MOST_CATEGORIES

    for column in encoder.columns_:
        if len(column.categories) > MOST_CATEGORIES:
            raise SynafaError(
                f"The text column {column.name!r} has {len(column.categories):,} different values, more than "
                f"{MOST_CATEGORIES}; they would be stored in the model, so leave it out with --drop {column.name!r}."
            )


def _n_classes(labels: np.ndarray) -> int:
    import polars as pl

    return pl.Series(labels).n_unique()


def _is_wide(names: Sequence[str], bins: int, labels: np.ndarray, judged: bool) -> bool:
    """Whether the model is the policy alone: of so many features no predictor is learnt."""
    from synafa.information.wide import is_wide

    if not is_wide(len(names), bins, _n_classes(labels)):
        return False
    if judged:
        raise SynafaError(
            f"--errors, --enough, --most and --floor need a predictor, and of {len(names):,} features none is learnt; "
            "leave them out, or give fewer columns (--drop)."
        )
    typer.echo(
        f"Note: of {len(names):,} features no predictor is learnt; the model says what to measure next, not what the "
        "case is.",
        err=True,
    )
    return True


def _check_synafa(bins: int, cost_weight: float | None) -> None:
    """Options of `--policy synafa` are checked even where they are not used: a nonsense value is a mistake."""
    if not 2 <= bins <= MAX_BINS:
        raise SynafaError(f"--bins must be from 2 to {MAX_BINS}, got: {str(bins)[:40]}.")
    if cost_weight is not None and not 0 <= cost_weight < float("inf"):
        raise SynafaError(f"--cost-weight must be a finite number of at least 0, got: {cost_weight}.")


def _look(features: pl.DataFrame, labels: np.ndarray, seed: int) -> tuple[pl.DataFrame, list[Suspicion]]:
    """The features that can be learnt from, and a note on standard error for each column that looks wrong."""
    from synafa.table.suspicious import suspicious_columns

    found = suspicious_columns(features, labels, seed)
    for one in found:
        typer.echo(f"Note: {one.text}", err=True)
    kept = features.drop([one.column for one in found if one.left_out])
    if kept.width == 0:
        raise SynafaError("No column is left to learn from; every one is a name, an identifier or free text.")
    return kept, found


def _prices(
    path: Path | None, words: list[str] | None, columns: Sequence[str], names: Sequence[str], known: Sequence[str]
) -> Any:
    """A PriceList of the model's features; lines for columns that were left out are no mistake."""
    from synafa.money.prices import PriceList
    from synafa.table.reading import parse_costs

    if path is not None and words:
        raise SynafaError("Give either --prices or --costs, not both.")
    if path is None:
        costs = parse_costs(words, columns)  # a cost of a column that was left out is no mistake either
        return PriceList.plain(names, None if costs is None else {name: costs[name] for name in names})
    return PriceList.from_csv(path, names, known=known, left_out=columns)


def _model(
    policy: str, prices: Any, errors: list[str] | None, seed: int, more: dict[str, Any]
) -> AcquisitionClassifier:
    from synafa.model.classifier import AcquisitionClassifier

    if policy == "plan-tree":
        from synafa.plan.plan_tree import PlanTree

        tree = PlanTree(budget=more["budget"], prices=prices, random_state=seed)
        return AcquisitionClassifier(tree, error_costs=errors, stop=more["stop"], random_state=seed)
    return AcquisitionClassifier(_synafa(prices, more), error_costs=errors, stop=more["stop"], random_state=seed)


def _synafa(prices: Any, more: dict[str, Any]) -> SynAFA:
    from synafa.policy.synafa import SynAFA

    paid = prices.price[prices.price > 0]
    weight = more["cost_weight"]
    return SynAFA(
        budget=float(prices.price.sum()) if more["budget"] is None else more["budget"],
        prices=prices,
        cost_weight=COST_WEIGHT / (float(paid.mean()) if len(paid) else 1.0) if weight is None else weight,
        pair_branch=more["pair_branch"],
        affordability=more["affordability"],
        n_bins=more["bins"],
    )


def _described(
    fitted: Any, policy: str, names: Sequence[str], n_rows: int, output: Path, suspicions: list[Suspicion]
) -> dict[str, Any]:
    single = fitted.overlap_.single if policy == "plan-tree" else fitted.rule_.single
    strongest = sorted(zip(names, single.tolist()), key=lambda item: -item[1])[:5]
    limit = fitted.budget_ if policy == "plan-tree" else fitted.rule_.budget
    summary: dict[str, Any] = {
        "model": str(output),
        "policy": policy,
        "rows": n_rows,
        "features": len(names),
        "classes": [str(label) for label in fitted.classes_.tolist()],
        "budget": limit,
        "strongest": [{"feature": name, "bits": bits} for name, bits in strongest],
        "suspicious": [{"column": one.column, "kind": one.kind, "text": one.text} for one in suspicions],
    }
    if policy == "plan-tree":
        summary["plan"] = [names[j] for j in fitted.tree_.plan()]
        summary["leaves"] = fitted.tree_.n_leaves
    return summary


def _report(summary: dict[str, Any], output: Path, as_json: bool) -> None:
    from synafa.files import is_standard_output

    if as_json:
        print_json(summary)
        return
    out = console(error=is_standard_output(output))
    told = f"{summary['features']} features, {len(summary['classes'])} classes; budget {number(summary['budget'])}."
    out.print(f"Fitted on {summary['rows']:,} rows, {told}")
    bits = ", ".join(f"{one['feature']} ({one['bits']:.4f} bits)" for one in summary["strongest"])
    out.print(f"Most informative alone: {bits}.", markup=False)
    if "plan" in summary:
        plan = ", ".join(summary["plan"]) or "nothing is worth its price"
        told = f"One plan for everybody: {plan}." if summary["leaves"] == 1 else f"{summary['leaves']} plans in a tree."
        out.print(told, markup=False)
    for name in ("stop", "floor"):
        if name in summary:
            out.print(summary[name], markup=False)
    out.print(f"Saved {output}. Ask it: synafa next {output}", markup=False, soft_wrap=True)
