"""Imports point one way, along the data's road; what is imported inside functions counts too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "synafa"

# From the bottom to the top: a part imports only from its own folder and from lines above it.
LAYERS = [
    "errors",
    "wording",
    "forks",
    "notebook",
    "files",
    "compiling",
    "arrays",
    "memory",
    "table",
    "money",
    "stats",
    "information",
    "stream",
    "predictor",
    "report",
    "graph",
    "policy",
    "plan",
    "model",
    "analysis",
    "datasets",
    "neural",
    "baselines",
    "evaluation",
    "proof",
    "demo",
    "web",
    "study.engine",
    "study.evidence",
    "study.experiments",
    "study.reporting",
    "cli",
]


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def layer_of(module: str) -> str:
    """`study.engine` of `synafa.study.engine.store`, `policy` of `synafa.policy.rule`."""
    inside = module.split(".")[1:]
    return ".".join(inside[:2]) if inside[0] == "study" else inside[0]


def imports_of(path: Path, with_types: bool = True) -> Iterator[str]:
    """The modules of this package that a file imports anywhere; `with_types` includes what only type checkers see."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = set()
    if not with_types:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                unseen |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_folder_is_in_the_list_of_layers():
    found = {layer_of(module) for module in MODULES if module.count(".") > 0} - {"study"}
    assert len(MODULES) > 100
    assert found <= set(LAYERS), f"not in the list: {sorted(found - set(LAYERS))}"


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_lies_below_it(layer):
    allowed = {*LAYERS[: LAYERS.index(layer) + 1]}
    for module, path in MODULES.items():
        if module.count(".") == 0 or layer_of(module) != layer:
            continue
        for name in imports_of(path):
            if name.startswith("synafa.") and name != "synafa.study":
                assert layer_of(name) in allowed, f"{module} imports {name}, which lies above it"


def test_no_two_files_import_each_other():
    graph = {
        module: {name for name in imports_of(path, with_types=False) if name in MODULES and name != module}
        for module, path in MODULES.items()
        if module != "synafa"  # its names are loaded on first use
    }
    for needed in graph.values():
        needed -= {"synafa"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_the_tests_mirror_the_tree():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    tested = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    assert folders <= tested, f"no folder of tests for: {sorted(folders - tested)}"


def test_the_architecture_page_shows_the_tree():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \| [^|]+ \|$", page, re.MULTILINE)
    shown = [name.removesuffix("/").removesuffix(".py") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(shown) == sorted(there - {"__init__"})
    layers = list(dict.fromkeys(layer.split(".")[0] for layer in LAYERS))
    folders = [name for name in shown if (PACKAGE / name).is_dir()]
    assert folders == [layer for layer in layers if layer in folders], "the page has the order of the layers"
    for part in ("engine", "evidence", "experiments", "reporting"):
        assert f"`{part}/`" in page


@pytest.mark.slow
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
    subprocess.run([sys.executable, "-c", program], check=True)
