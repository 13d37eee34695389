"""Fixtures shared by all tests."""

from __future__ import annotations

import os

# Tests run side by side; a thread a process is faster than many threads that wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the study's data files; its absence skips, its presence without the files fails."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ["SYNAFA_DATA"]) if "SYNAFA_DATA" in os.environ else beside
    if not folder.exists() and not beside.exists():
        pytest.skip("the study's data files are not on this machine (set SYNAFA_DATA)")
    folder = folder if folder.exists() else beside
    assert (folder / "physionet.csv").exists(), f"{folder} exists but holds no physionet.csv"
    os.environ["SYNAFA_DATA"] = str(folder)
    return folder
