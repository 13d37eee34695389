"""The study on a Dask cluster gives what it gives on local processes, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from synafa.errors import SynafaError
from synafa.study import Settings
from synafa.study.engine.results import Results
from synafa.study.engine.runner import run_units
from synafa.study.engine.store import Store
from tests.study import toy_experiment as toy

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.setenv("TOY_SLEEP", "0.3")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


def test_two_dask_workers_one_killed_midway_give_the_same_results(cluster, tmp_path: Path) -> None:
    from synafa.study.engine.dask_runner import run_on_dask

    settings = Settings("quick", root=tmp_path / "dask")
    store = Store(settings.results)
    units = toy.units(settings)
    killed: list[int] = []

    def kill_one() -> None:
        while sum(store.status(unit) == "done" for unit in units) < 3:
            time.sleep(0.05)
        with distributed.Client(cluster.scheduler_address) as client:
            victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killer = threading.Thread(target=kill_one)
    killer.start()
    summary = run_on_dask(units, store, cluster.scheduler_address)
    killer.join()
    assert killed
    assert summary.complete
    assert summary.failed == {}

    local = Settings("quick", root=tmp_path / "local")
    run_units(toy.units(local), Store(local.results), workers=2)
    for ours, theirs in zip(Results.read(units, settings).rows, Results.read(toy.units(local), local).rows):
        assert {**ours, "threads": None} == {**theirs, "threads": None}
    again = run_on_dask(units, store, cluster.scheduler_address)
    assert again.ran == []


def test_failures_and_blocked_units_are_the_same_on_dask(cluster, tmp_path: Path) -> None:
    from synafa.study.engine.dask_runner import run_on_dask

    settings = Settings("quick", root=tmp_path)
    bad = toy.toy_unit(settings, 50, mood="fail")
    child = toy.toy_unit(settings, 51, needs=(bad,))
    good = toy.toy_unit(settings, 1)
    summary = run_on_dask([child, good], Store(settings.results), cluster.scheduler_address)
    assert len(summary.ran) == 1
    assert summary.blocked == [child.label]
    assert next(iter(summary.failed.values())).endswith("the toy was told to fail")


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    from synafa.study.engine.dask_runner import run_on_dask

    with pytest.raises(SynafaError, match=r"tcp://127.0.0.1:9"):
        run_on_dask([], Store(tmp_path), "tcp://127.0.0.1:9")
