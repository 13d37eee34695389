"""`synafa next`: what a case is now and what to measure next, or a conversation to its end; nothing is compiled."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from synafa.cli import options
from synafa.cli.common import number, parse_values, print_json, split_names
from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.model.answer import Answer
    from synafa.model.answering import Bedside

COMMANDS = {
    "no": ("no", "n", "cannot", "cannot measure", "unavailable", "na"),
    "failed": ("failed", "no result"),
    "other": ("other",),
    "back": ("back", "undo"),
    "stop": ("stop", "quit", "q", "exit"),
    "help": ("help", "?"),
}
_MEANINGS = {
    "no": "when it cannot be measured",
    "failed": "when it was measured, paid and gave no result",
    "other": "for the runners-up and what comes otherwise",
    "back": "to take back the last answer",
    "stop": "to end",
    "help": "for this help",
}
_HELP = f"Type the result; {', '.join(f'{command!r} {meaning}' for command, meaning in _MEANINGS.items())}."
_SHOWN = 6  # categories that fit into a question


@dataclass(frozen=True)
class Case:
    """What is known of a case: results (None: no result), what cannot be had, and the budget left if it was told."""

    values: Mapping[str, str | None]
    absent: Sequence[str]
    remaining: float | None

    def ask(self, model: Bedside, without: Sequence[str] = ()) -> Answer:
        """What the model says of it."""
        return model.next_feature(dict(self.values), remaining=self.remaining, unavailable=[*self.absent, *without])


def next_measurement(
    model: options.Model,
    observed: Annotated[
        list[str] | None,
        typer.Option("--observed", help="What is known: name=value, several words or repeated; name= for no result."),
    ] = None,
    remaining: Annotated[
        float | None, typer.Option("--remaining", help="Budget that is left; without it: budget less observed costs.")
    ] = None,
    unavailable: Annotated[
        list[str] | None, typer.Option("--unavailable", help="What cannot be measured for this case: a,b.")
    ] = None,
    other: Annotated[bool, typer.Option("--other", help="Also show the runners-up and why not they.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask, take the answer, ask again until the budget is spent.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Say what a case is now and how sure that is, and recommend its next measurement.

    Example: `synafa next model.synafa --observed GCS=7 BUN=20 lactate= --unavailable PaO2`
    """
    from synafa.model.storage import load_bedside

    loaded = load_bedside(model)
    names = list(loaded.policy_.encoder_.feature_names_)
    case = Case(parse_values(observed, names), split_names(unavailable, names), remaining)
    if interactive:
        if as_json:
            raise SynafaError("--interactive talks to a person; leave out --json.")
        _converse(loaded, case)
        return
    found = case.ask(loaded)
    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(describe(found))
    if other:
        typer.echo(_others(loaded, case, found))


def describe(found: Answer) -> str:
    """An answer in a few lines."""
    proposal = found.recommendation
    if proposal.feature is None:
        return found.text
    return f"{found.text}\nBudget left before it: {number(proposal.remaining)}."


def _others(model: Bedside, case: Case, found: Answer) -> str:
    """The runners-up and why not they, and what comes when the proposal cannot be had."""
    if found.recommendation.feature is None:
        return "Nothing else is proposed."
    lines = [one.text for one in found.others]
    otherwise = case.ask(model, [found.recommendation.feature]).recommendation
    return "\n".join([*lines, f"Without {found.recommendation.feature}: {otherwise.text}"])


def _converse(model: Bedside, case: Case) -> None:
    history: list[Case] = []
    typer.echo(_HELP)
    while True:
        found = case.ask(model)
        typer.echo()
        typer.echo(describe(found))
        feature = found.recommendation.feature
        if feature is None:
            break
        command, answer = _ask(model, case, found)
        if command == "stop":
            break
        if command == "back":
            if history:
                case = history.pop()
            else:
                typer.echo("There is no answer to take back.")
            continue
        history.append(case)
        if command == "no":
            case = replace(case, absent=[*case.absent, feature])
            continue
        left = case.remaining if case.remaining is None else max(case.remaining - found.recommendation.cost, 0.0)
        case = replace(case, values={**case.values, feature: answer if command == "value" else None}, remaining=left)
    typer.echo()
    typer.echo(_summary(case))


def _ask(model: Bedside, case: Case, found: Answer) -> tuple[str, str]:
    """`("value", a usable value)`, or one of the commands "no", "failed", "back" and "stop" with nothing."""
    feature = str(found.recommendation.feature)
    categories = model.policy_.encoder_.categories_.get(feature, ())
    for sentence in _ambiguities(feature, categories):
        typer.echo(sentence)
    few = f" ({', '.join(categories)})" if 0 < len(categories) <= _SHOWN else ""
    questioned = ""
    while True:
        try:
            answer = input(f"{feature}{few} = ").strip()
        except EOFError:
            typer.echo()
            return "stop", ""
        command, answer = understand(answer, categories)
        if command == "other":
            typer.echo(_others(model, case, found))
        elif command == "help":
            typer.echo(_HELP)
        elif command != "value":
            return command, ""
        else:
            try:  # the same check that the next recommendation makes
                doubts = _doubts(model, feature, answer)
            except SynafaError as error:
                typer.echo(str(error))
                continue
            if not doubts or answer == questioned:
                return command, answer
            questioned = answer
            typer.echo(f"{doubts[0]} Type it again if it is.")


def _doubts(model: Bedside, feature: str, answer: str) -> tuple[str, ...]:
    """Why a value may be a slip; a value that cannot be used at all is an error."""
    from synafa.model.asking import questioned

    return questioned(model, {feature: answer})


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


def _summary(case: Case) -> str:
    measured = [f"{name}={value}" for name, value in case.values.items() if value is not None]
    failed = [name for name, value in case.values.items() if value is None]
    lines = [f"Measured: {', '.join(measured) or 'nothing'}."]
    if failed:
        lines.append(f"Without a result: {', '.join(failed)}.")
    if case.absent:
        lines.append(f"Could not be measured: {', '.join(case.absent)}.")
    if case.values or case.absent:
        words = ["--observed", *measured, *(f"{name}=" for name in failed)] if case.values else []
        words += [word for name in case.absent for word in ("--unavailable", name)]
        words += ["--remaining", f"{case.remaining:.12g}"] if case.remaining is not None else []
        lines.append(f"To come back here: {shlex.join(words)}")
    return "\n".join(lines)
