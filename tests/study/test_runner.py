"""The study's engine: units run once, survive kills, and fail alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.study import Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.engine.runner import run_units
from synafa.study.engine.schedule import Schedule
from synafa.study.engine.store import Store
from synafa.study.engine.unit import priorities, with_needs
from tests.study import toy_experiment as toy

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings("quick", root=tmp_path / "results")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "toy.log"
    path.touch()
    monkeypatch.setenv("TOY_LOG", str(path))
    return path


def runs(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split()))


def test_a_unit_is_its_content_not_its_cost_or_needs(settings: Settings) -> None:
    unit = toy.toy_unit(settings, 3)
    assert unit == toy.toy_unit(settings, 3, cost=9.0, needs=(toy.toy_unit(settings, 1),))
    for other in (
        toy.toy_unit(settings, 4),
        toy.toy_unit(Settings("standard"), 3),
        toy.toy_unit(Settings("quick", seed=1), 3),
        settings.unit("toy", toy.__name__, 2, {"number": 3}),
        settings.unit("other", toy.__name__, 1, {"number": 3}),
    ):
        assert unit != other
    assert Unit.from_dict(unit.to_dict()) == unit


def test_parameters_that_json_cannot_hold_are_refused(settings: Settings) -> None:
    with pytest.raises(SynafaError, match="not JSON"):
        settings.unit("toy", toy.__name__, 1, {"number": np.arange(3)})


def test_every_unit_runs_once_and_the_next_run_does_nothing(settings: Settings, log: Path) -> None:
    store = Store(settings.results)
    first = run_units(toy.units(settings), store, workers=2)
    assert first.complete
    assert len(first.ran) == 12
    second = run_units(toy.units(settings), store, workers=2)
    assert second.already == 12
    assert second.ran == []
    assert set(runs(log).values()) == {1}


def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    tables = []
    for workers in (1, 3):
        settings = Settings("quick", root=tmp_path / str(workers))
        run_units(toy.units(settings), Store(settings.results), workers=workers)
        tables.append(Results.read(toy.units(settings), settings).rows)
    assert tables[0] == tables[1]
    assert all(row["threads"] == "1" for row in tables[0])


def test_a_stored_result_says_how_it_came_about(settings: Settings) -> None:
    unit = toy.toy_unit(settings, 5)
    store = Store(settings.results)
    run_units([unit], store, workers=1)
    result = store.load(unit)
    assert result is not None
    assert result.rows[0]["square"] == 25
    np.testing.assert_array_equal(result.arrays["range"], np.arange(5))
    assert {"python", "numpy", "numba", "scikit-learn", "synafa"} <= result.record["versions"].keys()
    assert result.stored["profile"] == "quick"
    assert result.stored["seed"] == 0
    assert result.stored["parameters"] == {"number": 5}
    assert result.record["cores"] == os.cpu_count()
    assert result.seconds >= 0
    assert result.record["started"]


def test_a_failed_unit_is_stored_with_its_error_and_tried_again(settings: Settings, log: Path) -> None:
    units = [*toy.units(settings), toy.toy_unit(settings, 50, mood="fail once")]
    store = Store(settings.results)
    first = run_units(units, store, workers=2)
    assert len(first.ran) == 12
    assert [error.splitlines()[-1] for error in first.failed.values()] == ["ValueError: the toy was told to fail"]
    stored = store.load(units[-1])
    assert stored is not None
    assert stored.status == "failed"
    assert "told to fail" in stored.error
    second = run_units(units, store, workers=2)
    assert second.complete
    assert runs(log)[50] == 2
    assert all(runs(log)[number] == 1 for number in range(12))


def test_what_needs_a_failed_unit_is_blocked_and_the_rest_goes_on(settings: Settings, log: Path) -> None:
    bad = toy.toy_unit(settings, 50, mood="fail")
    child = toy.toy_unit(settings, 51, needs=(bad,))
    grandchild = toy.toy_unit(settings, 52, needs=(child,))
    summary = run_units([grandchild, toy.toy_unit(settings, 1)], Store(settings.results), workers=2)
    assert summary.blocked == [child.label, grandchild.label]
    assert runs(log) == {50: 1, 1: 1}
    assert not summary.complete


def test_needs_run_first_and_shared_needs_run_once(settings: Settings, log: Path) -> None:
    shared = toy.toy_unit(settings, 20)
    units = [toy.toy_unit(settings, number, needs=(shared,)) for number in (21, 22, 23)]
    run_units(units, Store(settings.results), workers=3)
    order = [int(line) for line in log.read_text().split()]
    assert order[0] == 20
    assert sorted(order) == [20, 21, 22, 23]


def test_the_longest_chain_starts_first(settings: Settings) -> None:
    short_need = toy.toy_unit(settings, 1, cost=1)
    long_child = toy.toy_unit(settings, 2, cost=100, needs=(short_need,))
    middle = toy.toy_unit(settings, 3, cost=50)
    schedule = Schedule([middle, long_child], Store(settings.results), workers=2)
    assert [unit["number"] for unit in schedule.ready()] == [1, 3]
    assert priorities([middle, long_child])[short_need.key] == 101
    assert [unit["number"] for unit in with_needs([long_child])] == [1, 2]


def test_time_left_follows_the_hints_and_how_wrong_they_were(settings: Settings) -> None:
    schedule = Schedule([toy.toy_unit(settings, n, cost=10) for n in range(4)], Store(settings.results), workers=2)
    assert schedule.seconds_left() == pytest.approx(20)
    schedule._worked.append((10.0, 30.0))
    assert schedule.seconds_left() == pytest.approx(60)


def test_a_worker_that_dies_fails_only_its_unit(settings: Settings, log: Path) -> None:
    units = [*toy.units(settings), *(toy.toy_unit(settings, 60 + n, cost=5.5, mood="die") for n in range(3))]
    store = Store(settings.results)
    summary = run_units(units, store, workers=2)
    assert len(summary.ran) == 12
    assert len(summary.failed) == 3
    assert all("SIGKILL" in error for error in summary.failed.values())
    assert [store.status(unit) for unit in units[-3:]] == ["failed"] * 3


def test_killing_the_study_at_any_moment_loses_and_repeats_no_finished_unit(settings: Settings, log: Path) -> None:
    program = (
        "import sys; from synafa.study import Settings; from synafa.study.engine.runner import run_units;"
        "from synafa.study.engine.store import Store; from tests.study import toy_experiment as toy;"
        f"s = Settings('quick', root={str(settings.root)!r});"
        "run_units(toy.units(s), Store(s.results), workers=2)"
    )
    environment = {**os.environ, "TOY_SLEEP": "0.25", "PYTHONPATH": str(ROOT)}
    store = Store(settings.results)
    finished: set[str] = set()
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=ROOT)
        waited = time.monotonic() + 300
        while len(_done(store, settings)) < len(finished) + 3 and time.monotonic() < waited and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.5)  # orphaned workers notice and leave
        now = _done(store, settings)
        assert finished < now, "a finished unit was lost, or nothing was finished"
        finished = now
    before = {key: (settings.results / "toy" / f"{key}.json").stat().st_mtime_ns for key in finished}
    summary = run_units(toy.units(settings), store, workers=2)
    assert summary.already == len(finished)
    assert summary.complete
    for key, stamp in before.items():
        assert (settings.results / "toy" / f"{key}.json").stat().st_mtime_ns == stamp
    store.sweep(toy.units(settings), older_than=0)
    assert not list((settings.results / "toy").glob(".*.tmp"))


def test_a_study_killed_inside_a_training_goes_on_there_and_ends_with_the_same_numbers(
    settings: Settings, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    program = (
        "from synafa.study import Settings; from synafa.study.engine.runner import run_units;"
        "from synafa.study.engine.store import Store; from tests.study import toy_experiment as toy;"
        f"s = Settings('quick', root={str(settings.root)!r});"
        "run_units([s.unit('toy', toy.__name__, 1, {'number': 1}, function='train')], Store(s.results), workers=1)"
    )
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "cache").rglob("*.unfinished"))) == 1
    unit, store = settings.unit("toy", toy.__name__, 1, {"number": 1}, function="train"), Store(settings.results)
    assert store.status(unit) == "pending"
    assert run_units([unit], store, workers=1).complete  # the same run once more
    pieces = store.load(unit)
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "other"))
    elsewhere = Store(tmp_path / "whole")
    assert run_units([unit], elsewhere, workers=1).complete
    whole = elsewhere.load(unit)
    assert pieces is not None
    assert whole is not None
    assert whole.rows[0]["began"] < 0.2
    assert pieces.rows[0]["began"] > 0.4
    assert pieces.rows[0]["losses"] == whole.rows[0]["losses"]
    for name, layer in whole.arrays.items():
        np.testing.assert_array_equal(layer, pieces.arrays[name])


def _done(store: Store, settings: Settings) -> set[str]:
    return {unit.key for unit in toy.units(settings) if store.status(unit) == "done"}


def test_ctrl_c_ends_the_run_cleanly_and_keeps_what_is_finished(settings: Settings) -> None:
    program = (
        "from synafa.study import Settings; from synafa.study.engine.runner import run_units;"
        "from synafa.study.engine.store import Store; from tests.study import toy_experiment as toy;"
        f"s = Settings('quick', root={str(settings.root)!r});"
        "summary = run_units(toy.units(s), Store(s.results), workers=2);"
        "print(summary.interrupted, len(summary.ran))"
    )
    environment = {**os.environ, "TOY_SLEEP": "0.3", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    store = Store(settings.results)
    waited = time.monotonic() + 300
    while len(_done(store, settings)) < 2 and time.monotonic() < waited and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert out.split()[0] == b"True"
    assert b"Traceback" not in err
    assert int(out.split()[1]) <= len(_done(store, settings)) < 12


def test_many_rows_go_to_parquet_and_come_back(settings: Settings) -> None:
    from synafa.study.engine.execute import Outcome

    store = Store(settings.results)
    unit = toy.toy_unit(settings, 7)
    rows = [{"step": step, "value": step / 3} for step in range(1000)]
    store.save(unit, Outcome("done", rows=rows))
    assert store.path(unit).with_suffix(".parquet").exists()
    loaded = store.load(unit)
    assert loaded is not None
    assert loaded.rows == rows


def test_a_failure_never_replaces_a_finished_result(settings: Settings) -> None:
    from synafa.study.engine.execute import Outcome

    store = Store(settings.results)
    unit = toy.toy_unit(settings, 7)
    store.save(unit, Outcome("done", rows=[{"a": 1}]))
    store.save(unit, Outcome("failed", error="late"))
    assert store.status(unit) == "done"


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(SynafaError, match="'fast'"):
        Settings("fast")
