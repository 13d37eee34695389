"""Damaged results of the study: found, named, computed again; two runs share the work; nobody is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from synafa.errors import SynafaError
from synafa.study import Settings
from synafa.study.engine.execute import Outcome
from synafa.study.engine.results import Results
from synafa.study.engine.runner import run_units
from synafa.study.engine.store import Store
from synafa.study.experiments.contract import Experiment
from synafa.study.reporting.status import study_status
from synafa.study.reporting.write import write_report
from tests.study import toy_experiment as toy

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (
    "import sys; from synafa.study import Settings; from synafa.study.engine.runner import run_units;"
    "from synafa.study.engine.store import Store; from tests.study import toy_experiment as toy;"
    "s = Settings('quick', root=sys.argv[1]); extra = sys.argv[2:];"
    "units = [toy.toy_unit(s, 70 + i, mood=m) for i, m in enumerate(extra)] or toy.units(s);"
    "summary = run_units(units, Store(s.results), workers=2); print(len(summary.ran), summary.complete)"
)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Results of twelve units, whose first four have many rows and so a Parquet file each."""
    settings = Settings("quick", root=tmp_path_factory.mktemp("original"))
    store = Store(settings.results)
    run_units(toy.units(settings), store, workers=1)
    for unit in toy.units(settings)[:4]:
        result = store.load(unit)
        store.save(unit, Outcome("done", result.rows * 300, result.arrays, result.record))
    return settings.root


@pytest.fixture
def settings(original, tmp_path):
    shutil.copytree(original, tmp_path / "results")
    return Settings("quick", root=tmp_path / "results")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.write_bytes(bytes(data))


def remove(path):
    path.unlink()


def folder(path):
    path.unlink()
    path.mkdir()


def edit(path):
    stored = json.loads(path.read_text())
    stored["record"]["seconds"] = 1e6
    path.write_text(json.dumps(stored))


def edit_rows(path):
    path.write_text(path.read_text().replace('"arrays": ["range"]', '"arrays": []'))


def list_instead(path):
    path.write_text("[]")


def deep(path):
    path.write_text("[" * 100_000)


def no_checksum(path):
    stored = json.loads(path.read_text())
    stored["surprise"] = stored.pop("checksum")
    path.write_text(json.dumps(stored))


def of_another(path):
    other = next(file for file in sorted(path.parent.glob(f"*{path.suffix}")) if file != path)
    shutil.copy(other, path)


DAMAGE = [
    *(
        (".json", change)
        for change in (cut, empty, flip, folder, edit, edit_rows, list_instead, deep, no_checksum, of_another)
    ),
    *((".parquet", change) for change in (cut, empty, flip, remove, folder, of_another)),
    *((".safetensors", change) for change in (cut, empty, flip, remove, folder, of_another)),
]


@pytest.mark.parametrize(("suffix", "change"), DAMAGE, ids=[f"{change.__name__}{suffix}" for suffix, change in DAMAGE])
def test_a_damaged_result_is_named_and_computed_again(settings, suffix, change, monkeypatch, tmp_path):
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("TOY_LOG", str(log))
    units = toy.units(settings)
    unit = units[2]
    store = Store(settings.results)
    change(store.path(unit).with_suffix(suffix))
    assert store.status(unit) == "pending"
    assert unit.label in store.damaged[unit.key]
    assert sum(store.status(other) == "done" for other in units) == 11
    results = Results.read(units, settings)
    assert len(results) == 11
    assert len(results.damaged) == 1
    assert len(results.rows) == 3 * 300 + 8
    (line,) = study_status([Experiment(toy)], settings)
    assert (line.done, line.pending, len(line.damaged)) == (11, 1, 1)
    assert not write_report([Experiment(toy)], settings, tmp_path / "report").sections[0].problem
    summary = run_units(units, store, workers=1)
    assert summary.complete
    assert len(summary.damaged) == 1
    assert [int(line) for line in log.read_text().split()] == [2], "only the damaged one"
    healed = store.load(unit)
    assert store.damaged == {}
    assert healed is not None
    assert healed.rows[0]["square"] == 4
    assert healed.arrays["range"].tolist() == [0, 1]


def test_results_from_before_checksums_still_count(settings):
    store = Store(settings.results)
    for unit in toy.units(settings):
        stored = json.loads(store.path(unit).read_text())
        del stored["checksum"], stored["files"]
        store.path(unit).write_text(json.dumps(stored))
    assert all(store.status(unit) == "done" for unit in toy.units(settings))
    cut(store.path(toy.units(settings)[1]).with_suffix(".safetensors"))
    assert Store(settings.results).status(toy.units(settings)[1]) == "pending"


def test_two_runs_in_one_folder_compute_every_unit_once(tmp_path):
    log = tmp_path / "log"
    log.touch()
    environment = {**os.environ, "TOY_SLEEP": "0.2", "TOY_LOG": str(log), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "results")]
    runs = [subprocess.Popen(words, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [run.communicate(timeout=120)[0].split() for run in runs]
    assert Counter(map(int, log.read_text().split())) == Counter(range(12))
    assert sum(int(ran) for ran, _ in answers) == 12
    assert [complete for _, complete in answers] == ["True", "True"]
    assert not list((tmp_path / "results").rglob("*.lock"))


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_computed(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("TOY_LOG", str(log))
    (tmp_path / "file").write_text("")
    settings = Settings("quick", root=tmp_path / "file" / "results")
    with pytest.raises(SynafaError, match="cannot be written"):
        run_units(toy.units(settings), Store(settings.results), workers=1)
    assert log.read_text() == ""


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_a_killed_run_leaves_no_worker_behind_even_inside_compiled_code(tmp_path):
    log = tmp_path / "log"
    log.touch()
    environment = {**os.environ, "TOY_LOG": str(log), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "results"), "hold", "hold"]
    run = subprocess.Popen(words, env=environment, cwd=ROOT)
    try:
        end = time.monotonic() + 300
        while len(log.read_text().split()) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        workers = children(run.pid)
        assert len(workers) >= 2
        run.send_signal(signal.SIGKILL)
        run.wait()
        end = time.monotonic() + 120
        while any(map(alive, workers)) and time.monotonic() < end:
            time.sleep(0.05)
        assert [pid for pid in workers if alive(pid)] == []
    finally:
        run.kill()
    settings = Settings("quick", root=tmp_path / "results")
    unit = toy.toy_unit(settings, 70, mood="fail")
    assert Store(settings.results).status(unit) == "pending"


@pytest.mark.slow
def test_a_lost_scheduler_is_called_that(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from synafa.study.engine.dask_runner import run_with_client

    monkeypatch.setenv("TOY_SLEEP", "0.2")
    settings = Settings("quick", root=tmp_path / "results")
    store = Store(settings.results)
    code = (
        "import sys; from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    c = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol='tcp://',\n"
        "        dashboard_address=None)\n"
        "    print(c.scheduler_address, flush=True); sys.stdin.read()\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    cluster = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
        text=True,
    )
    try:
        import threading

        client = distributed.Client(cluster.stdout.readline().strip(), timeout=20)

        def end() -> None:
            while not any(store.status(unit) == "done" for unit in toy.units(settings)):
                time.sleep(0.05)
            cluster.kill()

        threading.Thread(target=end).start()
        with pytest.raises(SynafaError, match=r"scheduler at .* was lost"):
            run_with_client(toy.units(settings), store, client)
        client.close(timeout=1)
    finally:
        cluster.kill()
