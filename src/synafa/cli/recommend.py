"""`synafa next`: one recommendation, or a conversation that ends when the budget is spent; nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from synafa.cli.common import AsJson, Model, number, parse_values, print_json, split_names
from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.policy.rule import DecisionRule, Recommendation

_HELP = (
    "Type the result; 'no' when it cannot be measured, 'other' for what comes otherwise, 'back' to take back the last "
    "answer, 'stop' to end."
)


def next_measurement(
    model: Model,
    observed: Annotated[
        list[str] | None, typer.Option("--observed", help="What is known: name=value, several words or repeated.")
    ] = None,
    remaining: Annotated[
        float | None, typer.Option("--remaining", help="Budget that is left; without it: budget less observed costs.")
    ] = None,
    unavailable: Annotated[
        list[str] | None, typer.Option("--unavailable", help="What cannot be measured for this case: a,b.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask, take the answer, ask again until the budget is spent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recommend the next measurement for one case, and say why.

    Example: `synafa next model.synafa --observed GCS=7 BUN=20 --unavailable PaO2`
    """
    from synafa.model.storage import load_rule

    rule = load_rule(model)
    names = list(rule.feature_names)
    values = parse_values(observed, names)
    absent = split_names(unavailable, names)
    if interactive:
        if as_json:
            raise SynafaError("--interactive talks to a person; leave out --json.")
        _converse(rule, values, absent, remaining)
        return
    found = rule.next_feature(values, remaining=remaining, unavailable=absent)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(describe(found))


def describe(found: Recommendation) -> str:
    """A recommendation in one or two lines."""
    left = "" if found.feature is None else f" Budget left before it: {number(found.remaining)}."
    return found.text + left


def _converse(rule: DecisionRule, values: dict[str, str], absent: list[str], remaining: float | None) -> None:
    history: list[tuple[dict[str, str], list[str], float | None]] = []
    typer.echo(_HELP)
    while True:
        found = rule.next_feature(values, remaining=remaining, unavailable=absent)
        typer.echo()
        typer.echo(describe(found))
        if found.feature is None:
            break
        answer = _ask(rule, found, values, absent)
        if answer is None:
            break
        if answer == "back":
            if history:
                values, absent, remaining = history.pop()
            else:
                typer.echo("There is no answer to take back.")
            continue
        history.append((dict(values), list(absent), remaining))
        if answer == "no":
            absent = [*absent, found.feature]
            continue
        values = {**values, found.feature: answer}
        if remaining is not None:
            remaining = max(remaining - found.cost, 0.0)
    typer.echo()
    typer.echo(_summary(values, absent))


def _ask(rule: DecisionRule, found: Recommendation, values: Mapping[str, str], absent: Sequence[str]) -> str | None:
    """A usable value, `"no"`, `"back"`, or None for the end."""
    while True:
        try:
            answer = input(f"{found.feature} = ").strip()
        except EOFError:
            typer.echo()
            return None
        word = answer.lower()
        if word in ("stop", "quit", "q", "exit"):
            return None
        if word in ("no", "n", "cannot", "cannot measure", "unavailable", "na"):
            return "no"
        if word in ("back", "undo"):
            return "back"
        if word == "other":
            without = [*absent, str(found.feature)]
            typer.echo(describe(rule.next_feature(values, remaining=found.remaining, unavailable=without)))
            continue
        if not answer or word in ("help", "?"):
            typer.echo(_HELP)
            continue
        try:  # the same check that the next recommendation makes
            rule.next_feature({**values, str(found.feature): answer})
        except SynafaError as error:
            typer.echo(str(error))
            continue
        return answer


def _summary(values: Mapping[str, str], absent: Iterable[str]) -> str:
    measured = ", ".join(f"{name}={value}" for name, value in values.items()) or "nothing"
    lines = [f"Measured: {measured}."]
    if list(absent):
        lines.append(f"Could not be measured: {', '.join(absent)}.")
    words = " ".join(
        f"'{name}={value}'" if " " in name + value else f"{name}={value}" for name, value in values.items()
    )
    if words:
        lines.append(f"To come back here: --observed {words}")
    return "\n".join(lines)
