"""A toy experiment for the engine's tests: squares, with units that can sleep, fail, or kill their worker."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from synafa.study import Headline, ReportRow, ReportTable, Settings, Unit
from synafa.study.paper import PaperValue
from synafa.study.results import Results

NAME = "toy"
TITLE = "Squares of small numbers"
VERSION = 1
COVERS = ("toy-squares",)


def toy_unit(settings: Settings, number: int, needs: tuple[Unit, ...] = (), cost: float = 1.0, **more: object) -> Unit:
    return settings.unit(NAME, __name__, VERSION, {"number": number, **more}, needs=needs, cost=cost)


def units(settings: Settings) -> list[Unit]:
    """Twelve squares; TOY_SLEEP makes them slow, and they leave a line in TOY_LOG each time they run."""
    return [toy_unit(settings, number, cost=float(number)) for number in range(12)]


def run(unit: Unit) -> dict:
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"{unit['number']}\n")
    mood = unit.parameters.get("mood")
    if mood == "fail once":
        witness = Path(os.environ["TOY_LOG"] + ".failed")
        if not witness.exists():
            witness.touch()
            raise ValueError("the toy was told to fail")
    if mood == "fail":
        raise ValueError("the toy was told to fail")
    if mood == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    number = unit["number"]
    noise = np.random.default_rng([unit.seed, number]).normal()
    rows = [{"square": number**2, "noise": noise, "threads": os.environ.get("OMP_NUM_THREADS")}]
    return {"rows": rows, "arrays": {"range": np.arange(number, dtype=np.int64)}}


def tables(results: Results) -> list[ReportTable]:
    rows = []
    for number in range(12):
        square = results.value("square", number=number)
        printed = PaperValue(float(number**2), None, str(number**2))
        rows.append(ReportRow((f"{number}",), square, printed, deterministic=True))
    return [ReportTable("Squares", "toy-squares", ("number",), rows)]


def headline(results: Results) -> list[Headline]:
    right = sum(row["square"] == row["number"] ** 2 for row in results.rows)
    return [Headline(f"{right} of {len(results.units)} squares are right.", held=right == len(results.units))]
