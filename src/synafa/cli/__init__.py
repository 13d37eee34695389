"""The `synafa` command. Nothing heavy is imported here, so that `synafa next` answers at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code: 0 for success, 2 for bad input."""
    from synafa.cli.app import run

    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a letter shows a question mark instead
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))
