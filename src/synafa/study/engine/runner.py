"""Run units on local worker processes: each computes and stores its own results, a dead one fails only its unit.

Workers are spawned with one thread for every numerical library, so that results do not depend on their number.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from synafa.errors import SynafaError
from synafa.study.engine.claims import Claims
from synafa.study.engine.execute import Outcome, execute, package_versions
from synafa.study.engine.progress import Progress, Silent
from synafa.study.engine.schedule import Schedule, Summary
from synafa.study.engine.store import Store
from synafa.study.engine.unit import Unit

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "POLARS_MAX_THREADS",
    )
}


_LOOK_AGAIN = 0.3  # seconds between looks at what another run does
_PR_SET_PDEATHSIG = 1


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    unit: Unit | None = None


def run_units(
    units: Sequence[Unit], store: Store, workers: int | None = None, progress: Progress | None = None
) -> Summary:
    """Run what is not finished yet, and what it needs, on `workers` local processes (default: one per core)."""
    count = workers if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise SynafaError(f"The number of workers must be at least 1, got: {count}.")
    store.prepare()
    schedule = Schedule(units, store, count)
    store.sweep(schedule.units.values())
    shown = progress if progress is not None else Silent()
    crew: list[_Worker] = []
    claims = Claims()
    shown.begin(schedule)
    try:
        while not schedule.finished:
            waiting = _hand_out(schedule, crew, count, claims)
            if any(worker.unit for worker in crew):
                _collect(schedule, crew, shown, claims)
            elif waiting:
                time.sleep(_LOOK_AGAIN)  # another run computes all that is left
            shown.update(schedule)
        return schedule.close()
    except KeyboardInterrupt:
        return schedule.close(interrupted=True)
    finally:
        _dismiss(crew)
        claims.release_all()
        shown.end(schedule)


def _hand_out(schedule: Schedule, crew: list[_Worker], count: int, claims: Claims) -> bool:
    """Give each idle worker the next ready unit, hiring workers up to `count`; whether another run holds some."""
    elsewhere = False
    for unit in schedule.ready():
        idle = next((worker for worker in crew if worker.unit is None), None)
        if idle is None and len(crew) >= count:
            return elsewhere
        if not claim(schedule, unit, claims):
            elsewhere |= unit.key not in schedule.done
            continue
        if idle is None:
            idle = _hire(schedule.store)
            crew.append(idle)
        try:
            idle.pipe.send(unit.to_dict())
        except OSError:  # it died while idle: replace it on the next round
            claims.release(schedule.store.lock(unit))
            crew.remove(idle)
            continue
        idle.unit = unit
        schedule.start(unit)
    return elsewhere


def claim(schedule: Schedule, unit: Unit, claims: Claims) -> bool:
    """Whether this run is to compute a unit now: not when another one does, or did."""
    lock = schedule.store.lock(unit)
    if not claims.take(lock):
        return False
    if schedule.store.status(unit) == "done":  # asked under the lock, so nobody can be about to finish it
        claims.release(lock)
        schedule.skip(unit)
        return False
    return True


def _collect(schedule: Schedule, crew: list[_Worker], shown: Progress, claims: Claims) -> None:
    """Wait until a worker answers or dies (or a moment passes), and book the result."""
    busy = [worker for worker in crew if worker.unit is not None]
    ready = connection.wait(
        [handle for worker in busy for handle in (worker.pipe, worker.process.sentinel)], timeout=0.5
    )
    for worker in busy:
        if worker.pipe not in ready and worker.process.sentinel not in ready:
            continue
        unit = worker.unit
        assert unit is not None
        try:
            status, error = worker.pipe.recv()  # an answer sent just before death still counts
        except (EOFError, OSError):
            worker.process.join(5)
            error = _obituary(worker.process.exitcode)
            schedule.store.save(unit, Outcome("failed", record=_death_record(), error=error))
            crew.remove(worker)
            status = "done" if schedule.store.status(unit) == "done" else "failed"  # stored, then died: not lost
        worker.unit = None
        claims.release(schedule.store.lock(unit))
        if status == "done":
            schedule.succeed(unit)
        else:
            schedule.fail(unit, error)
        shown.finished(schedule, unit, status, error)


def _obituary(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = "; perhaps it ran out of memory: try fewer workers" if name == "SIGKILL" else ""
        return f"The worker process was ended by {name} while it ran this unit{hint}."
    return f"The worker process ended with exit code {exitcode} while it ran this unit."


def _death_record() -> dict[str, Any]:
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), "seconds": 0.0, "versions": package_versions()}


def _hire(store: Store) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, str(store.folder)), daemon=True)
    with _environment(ONE_THREAD):  # the child reads it before it imports any numerical library
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _dismiss(crew: list[_Worker]) -> None:
    for worker in crew:
        worker.pipe.close()
        if worker.unit is not None:
            worker.process.terminate()
    for worker in crew:
        worker.process.join(5)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _work(pipe: Connection, folder: str) -> None:
    """A worker's life: take a unit, compute it, store it, say so; end when the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's business
    _die_with_parent()
    os.dup2(2, 1)  # standard output belongs to the command's own answer, which may be JSON
    threading.Thread(target=_end_with_parent, daemon=True).start()
    store = Store(folder)
    while True:
        try:
            unit = Unit.from_dict(pipe.recv())
        except (EOFError, OSError):
            return
        outcome = execute(unit)
        try:
            store.save(unit, outcome)
            answer = (outcome.status, outcome.error)
        except Exception as problem:
            answer = ("failed", f"The result could not be stored: {problem}")
        try:
            pipe.send(answer)
        except OSError:
            return


def _die_with_parent() -> None:
    """Ask the system (Linux) to end this process with its parent, also in the middle of compiled code."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    parent = parent_process()
    if parent is not None and os.getppid() != parent.pid:  # it was gone before we asked
        os._exit(1)


def _end_with_parent() -> None:
    """Leave at once when the main process is gone, instead of working on unseen."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
