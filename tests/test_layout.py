"""Imports point one way: the command line and the study stand on top."""

from __future__ import annotations

import ast
import subprocess
import sys
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


def test_the_core_works_without_torch():
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Absent())
import numpy as np
from synafa import AcquisitionClassifier, SynAFA
from synafa.errors import MissingExtraError
X = np.random.default_rng(0).normal(size=(200, 4))
y = (X[:, 0] > 0).astype(int)
assert AcquisitionClassifier(SynAFA(budget=1)).fit(X, y).score(X, y) > 0.9
from synafa.baselines import train
from synafa.datasets import load
try:
    train("gdfs", load("cube", n=100), 3, profile="quick", cache=False)
except MissingExtraError as error:
    assert "synafa[neural]" in str(error), error
else:
    raise AssertionError("a network was trained without torch")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
