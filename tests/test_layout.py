"""Imports point one way: the command line and the study stand on top."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "synafa"


def imported_parts(path):
    """The first part below `synafa` of everything that a file imports from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("synafa."):
                yield name.split(".")[1]


def test_nothing_imports_the_command_line_and_only_the_command_line_imports_the_study():
    files = [path for path in PACKAGE.rglob("*.py")]
    assert len(files) > 50
    for path in files:
        own = path.relative_to(PACKAGE).parts[0]
        above = set(imported_parts(path)) & {"cli", "study"} - {own}
        assert not above or own == "cli", f"{path.relative_to(PACKAGE)} imports {sorted(above)}"
