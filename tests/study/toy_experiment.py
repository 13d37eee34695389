"""A toy experiment for the engine's tests: squares, with units that can sleep, fail, or kill their worker."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

import numpy as np

from synafa.report.figures import line_with_interval, new_figure, zero_line
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.paper import PaperValue

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
    print("a unit may print; that must not disturb the command's own output")
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
    if mood == "hold":  # the interpreter's lock, as compiled code may
        ctypes.PyDLL(None).sleep(60)
    if mood == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    number = unit["number"]
    noise = np.random.default_rng([unit.seed, number]).normal()
    rows = [{"square": number**2, "noise": noise, "threads": os.environ.get("OMP_NUM_THREADS")}]
    return {"rows": rows, "arrays": {"range": np.arange(number, dtype=np.int64)}}


def train(unit: Unit) -> dict:
    """Train a classifier; the first time, in the middle, the whole run is killed. Says where the training began."""
    from synafa.datasets import load
    from synafa.neural import resume
    from synafa.neural.shared import shared_classifier

    resume.EVERY = 0.0  # as if every epoch took half a minute
    witness, told = Path(os.environ["TOY_LOG"] + ".killed"), []

    def progress(share: float, text: str) -> None:
        told.append(share)
        if share > 0.5 and not witness.exists():
            witness.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    model = shared_classifier(load("cube", n=400), "quick", unit["number"], progress=progress)
    arrays = {f"layer_{at}": layer for at, layer in enumerate(model.layers)}
    return {"rows": [{"began": told[0], "losses": list(model.validation_losses)}], "arrays": arrays}


def tables(results: Results) -> list[ReportTable | PlainTable]:
    rows = []
    for number in range(12):
        square = results.value("square", number=number)
        printed = PaperValue(float(number**2), None, str(number**2))
        rows.append(ReportRow((f"{number}",), square, printed, deterministic=True))
    here = results.value("square", number=3)
    verdicts = [
        ReportRow(("nine", "with an interval"), here, PaperValue(9.25, True, "+9.25*"), 8.5, 9.5, True),
        ReportRow(("nine", "far, same sign"), here, PaperValue(5.0, True, "+5.00*"), 8.5, 9.5, True),
        ReportRow(("nine", "other sign"), here, PaperValue(-5.0, True, "-5.00*"), 8.5, 9.5, True, note="as it should"),
        ReportRow(("nine", "a tie"), here, PaperValue(None, False, "tie"), 8.5, 9.5, True),
        ReportRow(("nine", "not tested"), here, PaperValue(7.0, None, "7.0"), 8.5, 9.5),
        ReportRow(("nine", "a tie of ours too"), here, PaperValue(None, False, "tie"), -8.5, 19.5, False),
        ReportRow(("nine", "trained, equal by chance"), here, PaperValue(9.0, None, "9")),
        ReportRow(("nine", "another unit"), here, PaperValue(9.0, None, "9.0"), comparable=False, note="centimetres"),
        ReportRow(("seventy", "never run"), None, PaperValue(4900.0, None, "4900")),
        ReportRow(("nine", "only ours"), here, None, 8.5, 9.5),
    ]
    plain = [(row["number"], row["square"], row["noise"], "a <word> & a | bar") for row in results.rows]
    return [
        ReportTable("Squares", "toy-squares", ("number",), rows),
        ReportTable("Every verdict", "toy-verdicts", ("number", "case"), verdicts, note="A note below the table."),
        PlainTable("Squares and noise", "toy-noise", ("number", "square", "noise", "word"), plain, digits=3),
    ]


def figures(results: Results) -> list[Figure]:
    figure, (left, right) = new_figure(columns=2)
    numbers = [row["number"] for row in results.rows]
    squares = np.array([row["square"] for row in results.rows], dtype=float)
    line_with_interval(left, numbers, squares, squares - 5, squares + 5, "squares", 0, band=True)
    line_with_interval(left, numbers, 2 * squares, 2 * squares - 9, 2 * squares + 9, "twice", 1)
    noise = [row["noise"] for row in results.rows]
    line_with_interval(right, numbers, noise, label="noise", index=2)
    zero_line(right)
    for axes, name in ((left, "square"), (right, "noise")):
        axes.set(xlabel="number", ylabel=name)
        axes.legend()
    return [Figure("toy-squares", "Squares", "Squares with bands, and noise.", figure)]


def headline(results: Results) -> list[Headline]:
    right = sum(row["square"] == row["number"] ** 2 for row in results.rows)
    return [
        Headline(f"{right} of {len(results.units)} squares are right.", held=right == len(results.units)),
        Headline("Squares do not grow linearly.", held=False, rank=7),
    ]
