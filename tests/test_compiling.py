"""The first start says that it compiles, later ones do not, and compiled code is kept where the next start looks."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pytest

import synafa.compiling
from synafa.compiling import FIRST_START, announced, keep_compiled


def test_a_first_compilation_is_said_once():
    @numba.njit
    def doubled(x):
        return 2 * x

    said = []
    with announced(said.append):
        assert doubled(2) == 4
        assert doubled(2.5) == 5.0
    assert said == [FIRST_START]
    with announced(said.append):
        assert doubled(3) == 6
    assert said == [FIRST_START]


@pytest.fixture
def read_only(monkeypatch):
    """As if the package lay in a folder that cannot be written and Numba were not imported yet."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delitem(sys.modules, "numba")
    folder = os.path.dirname(synafa.compiling.__file__)
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and can(path, mode))


def test_a_read_only_package_keeps_compiled_code_in_the_cache(read_only, tmp_path, monkeypatch):
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    keep_compiled()
    assert os.environ.pop("NUMBA_CACHE_DIR") == str(tmp_path / "numba")


def test_without_any_cache_folder_the_temporary_one_is_taken(read_only, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "file" / "below"))
    keep_compiled()
    assert "synafa-numba" in os.environ.pop("NUMBA_CACHE_DIR")


def test_a_choice_of_the_user_stands(monkeypatch):
    program = "import os, synafa; print(os.environ['NUMBA_CACHE_DIR'])"
    environment = {**os.environ, "NUMBA_CACHE_DIR": "chosen"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "chosen"


@pytest.mark.slow
def test_the_second_start_finds_what_the_first_compiled(tmp_path):
    program = (
        "import numpy as np; from synafa import SynAFA; from synafa.compiling import announced\n"
        "with announced(print): SynAFA(budget=1).fit(np.eye(4), [0, 1, 0, 1])"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [one.stdout.strip() for one in said] == [FIRST_START, ""]
