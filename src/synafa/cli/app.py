"""Turns words into a command: finds the module of the command that was asked for, and only imports that one.

Whatever the user caused comes out as one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from synafa import __version__
from synafa.errors import SynafaError


@dataclass(frozen=True)
class Entry:
    """Where a command lives, and the line that the overview shows for it."""

    home: str
    summary: str
    panel: str


_PRACTICE, _RESEARCH = "For practitioners", "For researchers"
COMMANDS = {
    "fit": Entry("fit:fit", "Learn from labelled rows which measurement to take next.", _PRACTICE),
    "next": Entry("recommend:next_measurement", "Recommend the next measurement for one case, and say why.", _PRACTICE),
    "acquire": Entry("core:acquire", "Run a model over a table of complete rows.", _PRACTICE),
    "graph": Entry("core:graph", "Draw a model as a decision graph.", _PRACTICE),
    "card": Entry("card:card", "Write a model on one page that can be printed and followed by hand.", _PRACTICE),
    "serve": Entry("serve:serve", "Ask a model in the browser, on this machine.", _PRACTICE),
    "report": Entry("report:report", "Prove on your own table what a model is worth.", _PRACTICE),
    "pairs": Entry("core:pairs", "List the strongest synergistic and redundant pairs.", _PRACTICE),
    "demo": Entry("core:demo", "Show everything on embedded data, with a report.", _PRACTICE),
    "data": Entry("data:data_app", "The study's datasets: what is here, and getting the rest.", _RESEARCH),
    "evaluate": Entry("evaluate:evaluate", "Measure policies on a dataset under a hard budget.", _RESEARCH),
    "scan": Entry("scan:scan", "Test every pair of a table for synergy and redundancy.", _RESEARCH),
    "baselines": Entry("baselines:baselines", "The published policies to compare with.", _RESEARCH),
    "leaderboard": Entry("leaderboard:leaderboard", "Rank policies, and your own beside them.", _RESEARCH),
    "study": Entry("study:study_app", "Run the study's experiments and write its report.", _RESEARCH),
}
_LONGEST = 600  # characters of a sentence
# Options that take several words, `--observed a=1 b=2`, although one option takes one word elsewhere.
_GREEDY = ("--observed", "--costs", "--errors")


class LazyGroup(typer.core.TyperGroup):
    """Shows every command, imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """A placeholder with the summary, enough for the overview."""
        entry = COMMANDS.get(name)
        if entry is None:
            return None
        return typer.core.TyperCommand(
            name, callback=lambda: None, help=entry.summary, short_help=entry.summary, rich_help_panel=entry.panel
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The real command, loaded now."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS and found is not None else found, rest


def load_command(name: str) -> Any:
    """Import one command; a Typer application stays a group, a function becomes a command."""
    module, _, attribute = COMMANDS[name].home.partition(":")
    target = getattr(import_module(f"synafa.cli.{module}"), attribute)
    if not isinstance(target, typer.Typer):
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
        single.command(name)(target)
        target = single
    command = typer.main.get_command(target)
    command.name = name
    return command


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"synafa {__version__}")
        raise typer.Exit()


@app.callback()
def overview(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Which measurement next, and when is it enough?

    Example: `synafa fit patients.csv --target died --budget 5 -o model.synafa`, then
    `synafa next model.synafa --observed GCS=7`.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are one sentence on standard error."""
    try:
        command = typer.main.get_command(app)
        code = command.main(args=spread_words(arguments), prog_name="synafa", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) and not isinstance(code, bool) else 0
    except BrokenPipeError:
        # The reader (`head`, a pager) has gone; the interpreter must not complain about it when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _complain("Interrupted.", 130)
    except Exception as error:
        if os.environ.get("SYNAFA_TRACEBACK"):
            raise
        return _complain(*sentence(error))


def sentence(error: BaseException) -> tuple[str, int]:
    """What to tell the user about an error, in one line, and the exit code."""
    if isinstance(error, SynafaError):
        return str(error), 2
    if type(error).__name__ == "Abort":
        return "Stopped.", 130
    if hasattr(error, "format_message"):  # a usage error of Typer, whichever Click it stands on
        # No arguments at all print the help; the error that goes with it has nothing to add.
        return ("" if type(error).__name__ == "NoArgsIsHelpError" else error.format_message()), 2
    if isinstance(error, OSError):
        name = f" {error.filename!r}" if error.filename else ""
        return f"Cannot use the file{name}: {error.strerror or error}.", 2
    if isinstance(error, MemoryError):
        return "There is not enough memory for this; try fewer rows, features or bins.", 2
    if type(error).__module__.startswith("polars"):
        return f"The table cannot be used: {error}", 2
    return f"Unexpected {type(error).__name__}: {error} (set SYNAFA_TRACEBACK=1 to see where).", 1


def spread_words(arguments: Sequence[str]) -> list[str]:
    """`--observed a=1 b=2` as `--observed a=1 --observed b=2`."""
    result: list[str] = []
    greedy = ""
    for i, word in enumerate(arguments):
        if word in _GREEDY:
            greedy = word
        elif word.startswith("-"):
            greedy = ""
        elif greedy and arguments[i - 1] != greedy:
            if "=" in word:
                result.append(greedy)
            else:
                greedy = ""
        result.append(word)
    return result


def _complain(text: str, code: int) -> int:
    line = " ".join(text.split())
    if len(line) > _LONGEST:  # a word of the user's own that fills the screen
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    if line:
        typer.echo(f"synafa: {line}{'' if line.endswith(('.', '?', '!')) else '.'}", err=True)
    return code
