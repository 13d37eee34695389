"""The same units on a Dask cluster: workers compute and return, this process writes the results.

At most a few units a worker thread are in flight, so that the longest ready unit goes next, as in the local runner. A
worker that dies takes its units with it; Dask runs them elsewhere, and a unit that keeps killing workers is failed.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from synafa.errors import MissingExtraError, SynafaError
from synafa.study.engine.claims import Claims
from synafa.study.engine.execute import Outcome, execute_stored, package_versions
from synafa.study.engine.progress import Progress, Silent
from synafa.study.engine.runner import claim
from synafa.study.engine.schedule import Schedule, Summary
from synafa.study.engine.store import Store
from synafa.study.engine.unit import Unit

if TYPE_CHECKING:
    from distributed import Client, Future

_NO_WORKER_SECONDS = 60.0


def run_on_dask(units: Sequence[Unit], store: Store, address: str, progress: Progress | None = None) -> Summary:
    """Run what is not finished yet, and what it needs, on the cluster at `address`."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MissingExtraError("distributed", "dask") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise SynafaError(f"No Dask scheduler answers at {address!r} ({error}); check the address.") from None
    with client:
        return run_with_client(units, store, client, progress)


def run_with_client(units: Sequence[Unit], store: Store, client: Client, progress: Progress | None = None) -> Summary:
    """`run_on_dask` for a client that is already connected."""
    store.prepare()
    schedule = Schedule(units, store, _threads(client))
    store.sweep(schedule.units.values())
    shown = progress if progress is not None else Silent()
    answers: queue.Queue[Future] = queue.Queue()
    flying: dict[str, tuple[Unit, Future]] = {}
    claims = Claims()
    shown.begin(schedule)
    alone_since = time.monotonic()
    try:
        while not schedule.finished:
            schedule.workers = max(1, _threads(client))
            _submit(schedule, client, flying, answers, claims)
            if client.status not in ("running", "connecting"):
                raise _lost(client)
            alone_since = time.monotonic() if _threads(client) else alone_since
            if time.monotonic() - alone_since > _NO_WORKER_SECONDS:
                raise SynafaError("The Dask cluster has had no worker for a minute; start one and run again.")
            try:
                future = answers.get(timeout=0.5)
            except queue.Empty:
                shown.update(schedule)
                continue
            unit, _ = flying.pop(str(future.key))
            outcome = _outcome(future)
            outcome = _stored(store, unit, outcome)
            claims.release(store.lock(unit))
            if outcome.status == "done":
                schedule.succeed(unit)
            else:
                schedule.fail(unit, outcome.error)
            shown.finished(schedule, unit, outcome.status, outcome.error)
            shown.update(schedule)
        return schedule.close()
    except KeyboardInterrupt:
        return schedule.close(interrupted=True)
    except OSError as error:  # Dask's closed connections are among them
        raise _lost(client) from error
    finally:
        claims.release_all()
        with suppress(Exception):  # the scheduler may be gone
            client.cancel([future for _, future in flying.values()])
        shown.end(schedule)


def _lost(client: Client) -> SynafaError:
    address = getattr(getattr(client, "scheduler", None), "address", None) or "its address"
    return SynafaError(
        f"The Dask scheduler at {address} was lost; what is finished is stored, and the next run goes on from there."
    )


def _stored(store: Store, unit: Unit, outcome: Outcome) -> Outcome:
    """Write an outcome; a result that cannot be written is a failed unit."""
    try:
        store.save(unit, outcome)
    except Exception as problem:
        return Outcome("failed", record=outcome.record, error=f"The result could not be stored: {problem}")
    return outcome


def _threads(client: Client) -> int:
    return sum(client.nthreads().values())


def _submit(
    schedule: Schedule,
    client: Client,
    flying: dict[str, tuple[Unit, Future]],
    answers: queue.Queue[Any],
    claims: Claims,
) -> None:
    """Send ready units until every worker thread has one."""
    for unit in schedule.ready():
        if len(flying) >= schedule.workers:
            return
        if not claim(schedule, unit, claims):
            continue
        # A fresh key each time: Dask would answer a retried unit with its remembered failure.
        key = f"{unit.experiment}-{unit.key}-{time.monotonic_ns()}"
        future = client.submit(execute_stored, unit.to_dict(), key=key, pure=False)
        flying[key] = (unit, future)
        schedule.start(unit)
        future.add_done_callback(answers.put)


def _outcome(future: Future) -> Outcome:
    """What the worker returned, or a failure when the cluster gave the unit up."""
    try:
        returned = future.result()
    except Exception as problem:
        record = {"seconds": 0.0, "versions": package_versions()}
        return Outcome("failed", record=record, error=f"{type(problem).__name__}: {problem}")
    assert isinstance(returned, Outcome)
    return returned
