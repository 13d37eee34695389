"""What is imported is declared, the oldest versions are the declared ones, and the wheel works by itself."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import synafa

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMES = {"sklearn": "scikit-learn", "dateutil": "python-dateutil"}  # imported under another name than installed


def requirements(*extras):
    """Name to least version of the declared dependencies, those of the given extras included."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    pairs = [re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)$", line) for line in lines if not line.startswith("synafa[")]
    return {pair[1].lower(): pair[2] for pair in pairs}


def third_party_imports():
    """The packages from elsewhere that any module of this one imports, wherever in the file."""
    found = set()
    for path in (ROOT / "src" / "synafa").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"synafa", "tests", "benchmarks"}


def test_what_is_imported_is_declared():
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"dev", "docs"}
    declared = set(requirements(*extras)) | {"dask"}  # distributed comes with it
    imported = {NAMES.get(name, name).lower() for name in third_party_imports()}
    assert len(imported) > 8
    assert imported <= declared, f"not declared: {sorted(imported - declared)}"


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "synafa.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", synafa.__version__)
    assert f"version: {synafa.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_oldest_versions_are_the_declared_ones():
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))
    for name, least in requirements("arrow", "data", "neural", "dask", "web").items():
        assert name in pins, f"{name} is not in constraints-oldest.txt"
        assert f"{pins[name]}.".startswith(f"{least}."), f"{name}: {pins[name]} is tested, {least} is declared"


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "-w", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("synafa-*.whl")
    assert wheel.name.startswith(f"synafa-{synafa.__version__}-")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # The dependencies are those of this environment, found by a path; what is installed editable here is not.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    program = """
import sys, synafa
from pathlib import Path
assert Path(synafa.__file__).is_relative_to(sys.prefix), synafa.__file__
from synafa.cli.app import run
from synafa.datasets.embedded import embedded_path
data, prices = str(embedded_path("heart")), str(embedded_path("heart-prices"))
words = ["fit", data, "--target", "disease", "--policy", "synafa", "--budget", "3", "-o", "model.synafa"]
assert run(words) == 0
assert run(["next", "model.synafa", "--observed", "age=54"]) == 0
assert run(["graph", "model.synafa", "-o", "graph.html"]) == 0
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["SYNAFA_CACHE"] = str(tmp_path / "cache")
    done = subprocess.run(
        [python, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Measure" in done.stdout
    assert (tmp_path / "graph.html").stat().st_size > 1000
