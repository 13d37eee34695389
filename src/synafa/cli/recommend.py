"""`synafa next`: one recommendation, or a conversation that ends when the budget is spent; nothing is compiled."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from synafa.cli.common import AsJson, Model, number, parse_values, print_json, split_names
from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.policy.rule import DecisionRule, Recommendation

COMMANDS = {
    "no": ("no", "n", "cannot", "cannot measure", "unavailable", "na"),
    "other": ("other",),
    "back": ("back", "undo"),
    "stop": ("stop", "quit", "q", "exit"),
    "help": ("help", "?"),
}
_MEANINGS = {
    "no": "when it cannot be measured",
    "other": "for what comes otherwise",
    "back": "to take back the last answer",
    "stop": "to end",
    "help": "for this help",
}
_HELP = f"Type the result; {', '.join(f'{command!r} {meaning}' for command, meaning in _MEANINGS.items())}."
_SHOWN = 6  # categories that fit into a question


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
        command, answer = _ask(rule, found, values, absent)
        if command == "stop":
            break
        if command == "back":
            if history:
                values, absent, remaining = history.pop()
            else:
                typer.echo("There is no answer to take back.")
            continue
        history.append((dict(values), list(absent), remaining))
        if command == "no":
            absent = [*absent, found.feature]
            continue
        values = {**values, found.feature: answer}
        if remaining is not None:
            remaining = max(remaining - found.cost, 0.0)
    typer.echo()
    typer.echo(_summary(values, absent, remaining))


def _ask(
    rule: DecisionRule, found: Recommendation, values: Mapping[str, str], absent: Sequence[str]
) -> tuple[str, str]:
    """`("value", a usable value)`, or one of the commands "no", "back" and "stop" with nothing."""
    feature = str(found.feature)
    categories = rule.encoder.categories_.get(feature, ())
    for sentence in _ambiguities(feature, categories):
        typer.echo(sentence)
    few = f" ({', '.join(categories)})" if 0 < len(categories) <= _SHOWN else ""
    while True:
        try:
            answer = input(f"{feature}{few} = ").strip()
        except EOFError:
            typer.echo()
            return "stop", ""
        command, answer = understand(answer, categories)
        if command == "other":
            without = [*absent, feature]
            typer.echo(describe(rule.next_feature(values, remaining=found.remaining, unavailable=without)))
        elif command == "help":
            typer.echo(_HELP)
        elif command != "value":
            return command, ""
        else:
            try:  # the same check that the next recommendation makes
                rule.next_feature({**values, feature: answer})
                return command, answer
            except SynafaError as error:
                typer.echo(str(error))


def understand(answer: str, categories: Sequence[str]) -> tuple[str, str]:
    """What an answer means: one of `COMMANDS`, or "value" with the value.

    A category of the feature comes before a command of the same name, spelt exactly or else but for its capitals; a
    command behind a slash is a command unless that, too, is a category.
    """
    alike = [category for category in categories if category.lower() == answer.lower()]
    if answer in categories or len(alike) > 1:
        return "value", answer
    if alike:
        return "value", alike[0]
    word = answer.lower().removeprefix("/")
    if not word:
        return "help", ""
    return next((command for command, words in COMMANDS.items() if word in words), "value"), answer


def _ambiguities(feature: str, categories: Sequence[str]) -> list[str]:
    """A sentence for each command whose own word is a value of the feature."""
    return [
        f"Here {command!r} is a value of {feature}; write '/{command}' {_MEANINGS[command]}."
        for command in COMMANDS
        if command in {category.lower() for category in categories}
    ]


def _summary(values: Mapping[str, str], absent: Sequence[str], remaining: float | None) -> str:
    measured = ", ".join(f"{name}={value}" for name, value in values.items()) or "nothing"
    lines = [f"Measured: {measured}."]
    if absent:
        lines.append(f"Could not be measured: {', '.join(absent)}.")
    if values or absent:
        words = ["--observed", *(f"{name}={value}" for name, value in values.items())] if values else []
        words += [word for name in absent for word in ("--unavailable", name)]
        words += ["--remaining", f"{remaining:.12g}"] if remaining is not None else []
        lines.append(f"To come back here: {shlex.join(words)}")
    return "\n".join(lines)
