"""Writes the tables of options into docs/cli.md from the commands themselves: `python docs/make_options.py`.

A table stands between `<!-- options of NAME -->` and `<!-- end -->`; `tests/test_docs.py` says when one is out of date
or missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synafa.cli.app import COMMANDS, load_command
from synafa.files import write_text

PAGE = Path(__file__).resolve().parent / "cli.md"
BLOCK = re.compile(r"<!-- options of ([\w -]+) -->\n.*?<!-- end -->", re.DOTALL)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its words: `fit`, ..., `study run`."""
    for name in COMMANDS:
        command = load_command(name)
        for word, inner in getattr(command, "commands", {}).items():
            yield f"{name} {word}", inner
        if not getattr(command, "commands", {}):
            yield name, command


def table(name: str, command: Any) -> str:
    """The arguments and options of a command, with its help as Typer shows it."""
    lines = [f"<!-- options of {name} -->", "| | meaning |", "|---|---|"]
    for one in command.params:
        if one.name == "help":
            continue
        told = re.sub(r"\s+", " ", getattr(one, "help", "") or "").strip().replace("|", "\\|")
        lines.append(f"| {_spelled(one)} | {told}{_default(one)} |")
    return "\n".join([*lines, "<!-- end -->"])


def _spelled(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{one.name.upper()}`{'' if one.required else ' (may be left out)'}"
    names = ", ".join(f"`{word}`" for word in (*sorted(one.opts, key=len, reverse=True), *one.secondary_opts))
    return f"{names}{' (required)' if one.required else ''}"


def _default(one: Any) -> str:
    value = one.default
    if callable(value) or value is None or value is False or value in ((), []) or one.required or one.secondary_opts:
        return ""
    return f" Default: `{getattr(value, 'value', value)}`."


def with_tables(text: str) -> str:
    """The page with every table as it should be now."""
    made = {name: table(name, command) for name, command in commands()}
    return BLOCK.sub(lambda found: made.get(found[1], found[0]), text)


if __name__ == "__main__":
    write_text(PAGE, with_tables(PAGE.read_text(encoding="utf-8")))
