"""Counts on Dask workers, real processes: any number of partitions, a worker killed, a scheduler lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from synafa import PairCounts, SynafaError
from synafa.cli.app import run
from synafa.information.exchange import unpack_arrays
from synafa.stream import cluster as cluster_module
from synafa.stream import worker
from synafa.stream.cluster import cluster_counts
from synafa.stream.passes import stream_counts

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(2)
    n = 3000
    x = rng.normal(size=n)
    table = pl.DataFrame(
        {
            "x": x,
            "sorted": np.sort(x),
            "hole": [None if r < 0.3 else r for r in rng.random(n)],
            "byte": rng.integers(0, 50, n).astype(np.uint8),
            "text": [*["b", "c"] * 1490, *["a"] * 20],
            "y": [*rng.choice(["no", "yes"], n - 5), *["rare"] * 5],
        }
    )
    folder = tmp_path_factory.mktemp("parts")
    for i in range(4):
        table[750 * i : 750 * i + 750].write_parquet(folder / f"p{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster.scheduler_address) as joined:
        yield joined


def assert_equal(found, expected):
    assert found.counts.to_bytes() == expected.counts.to_bytes()
    assert found.edges.tobytes() == expected.edges.tobytes()
    assert found.encoder.columns_ == expected.encoder.columns_


@pytest.mark.parametrize(("parts", "tile", "n_bins"), [(1, None, 2), (4, 2, 2), (17, None, 3), (64, 3, 2)])
def test_any_number_of_partitions_and_tiles_gives_the_same_bytes(folder, client, parts, tile, n_bins):
    for drop in ((), ("hole",)):  # with empty cells and without
        expected = stream_counts(str(folder), "y", n_bins=n_bins, drop=drop)
        found = cluster_counts(str(folder), "y", client, parts=parts, tile=tile, n_bins=n_bins, drop=drop)
        assert_equal(found, expected)
        assert found.counts.missing == (not drop)


def test_a_worker_killed_midway_changes_nothing(folder, cluster, client, tmp_path):
    expected = stream_counts(str(folder), "y")
    killed = []

    def kill_one(stage):
        if not killed:
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    found = cluster_counts(str(folder), "y", client, parts=24, wave=6, progress=kill_one)
    assert killed
    assert_equal(found, expected)


def test_a_worker_that_dies_with_what_all_parts_need_changes_nothing(folder, cluster, client, monkeypatch):
    scatter, result = client.scatter, cluster_module._ClusterRun._result
    given, killed = [], []

    def watched(*arguments, **settings):
        given.append(scatter(*arguments, **settings))
        return given[-1]

    def kill_first(self, future):
        if not killed:
            holder = client.who_has([given[-1]])[given[-1].key][0]
            killed.append(client.run(os.getpid, workers=[holder])[holder])
            os.kill(killed[0], signal.SIGKILL)
        return result(self, future)

    monkeypatch.setattr(client, "scatter", watched)
    monkeypatch.setattr(cluster_module._ClusterRun, "_result", kill_first)
    found = cluster_counts(str(folder), "y", client, parts=24)
    assert killed
    assert_equal(found, stream_counts(str(folder), "y"))


def test_a_cluster_that_lost_all_its_workers_is_said(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "_IDLE_SECONDS", 1.0)
    checkpoint = tmp_path / "state"
    with started(tmp_path) as (_, address), distributed.Client(address) as client:

        def kill(stage):
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        with pytest.raises(
            SynafaError, match=r"at tcp.* lost its workers after 3 of 12 parts; run again to go on from"
        ):
            cluster_counts(str(folder), "y", client, parts=12, wave=3, checkpoint=checkpoint, progress=kill)
    assert checkpoint.exists()


def test_the_command_line_and_pair_counts_count_on_a_cluster(folder, cluster, client, tmp_path):
    expected = stream_counts(str(folder), "y")
    assert PairCounts.from_dask(str(folder / "*.parquet"), "y", client) == expected.counts
    model = tmp_path / "model.synafa"
    words = ["fit", str(folder), "-t", "y", "-o", str(model), "--scheduler", cluster.scheduler_address]
    assert run(words) == 0
    here = tmp_path / "here.synafa"
    assert run(["fit", str(folder), "-t", "y", "-o", str(here)]) == 0
    assert model.read_bytes() == here.read_bytes()


def test_a_dask_frame_is_counted_where_it_lies(folder, client):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.read_parquet([str(path) for path in sorted(folder.glob("*.parquet"))])
    assert PairCounts.from_dask(frame, "y", client) == stream_counts(str(folder), "y").counts


@contextmanager
def started(tmp_path, environment=None):
    """A scheduler and one worker, each a process of its own: the scheduler's process and address."""
    address_file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(address_file)], **quiet)
    worker = None
    try:
        while not address_file.exists() or not address_file.read_text():
            time.sleep(0.1)
        address = json.loads(address_file.read_text())["address"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        worker = subprocess.Popen([*command, "--no-nanny"], env=environment, **quiet)
        with distributed.Client(address) as waiting:
            waiting.wait_for_workers(1, timeout=60)
        yield scheduler, address
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()


def test_a_lost_scheduler_ends_in_a_sentence_and_the_count_goes_on_elsewhere(folder, client, tmp_path):
    checkpoint = tmp_path / "state"
    seen = []
    settings = {"parts": 12, "wave": 3, "checkpoint": checkpoint}
    with started(tmp_path) as (scheduler, address):

        def kill_scheduler(stage):
            seen.append(stage)
            if len(seen) == 2:
                scheduler.send_signal(signal.SIGKILL)

        with pytest.raises(SynafaError, match=r"scheduler at tcp.* was lost after 6 of 12 parts; run again") as error:
            cluster_counts(str(folder), "y", address, progress=kill_scheduler, **settings)
        assert "\n" not in str(error.value)
    assert checkpoint.exists()
    rest = []
    found = cluster_counts(str(folder), "y", client, progress=rest.append, **settings)
    assert len(rest) == 2 + 4, "waves before the loss are not counted again"
    assert_equal(found, stream_counts(str(folder), "y"))
    assert not checkpoint.exists()


def test_what_is_wrong_is_said_with_file_and_worker(folder, client, tmp_path):
    for path in folder.glob("*.parquet"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    last = tmp_path / "p3.parquet"
    pl.read_parquet(last).with_columns(pl.lit(float("inf")).alias("x")).write_parquet(last)
    with pytest.raises(SynafaError, match=r"'x' holds infinity in row 1 of '.*p3.parquet'.* \(on the worker at tcp"):
        cluster_counts(str(tmp_path), "y", client)
    with pytest.raises(SynafaError, match=r"No Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        cluster_counts(str(folder), "y", "tcp://127.0.0.1:9")


def test_a_worker_without_the_package_is_named_and_nothing_is_written(folder, tmp_path, capsys):
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "synafa.py").write_text("raise ModuleNotFoundError(\"No module named 'synafa'\")\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lacking")}
    model, checkpoint = tmp_path / "model.synafa", tmp_path / "state"
    with started(tmp_path, environment) as (_, address):
        words = ["fit", str(folder), "-t", "y", "-o", str(model), "--scheduler", address]
        assert run([*words, "--checkpoint", str(checkpoint)]) == 2
        assert re.fullmatch(
            r"synafa: The worker at tcp://\S+ has no synafa; install it there and start the worker again.",
            " ".join(capsys.readouterr().err.split()),
        )
    assert not model.exists()
    assert not checkpoint.exists()


def test_what_cannot_be_counted_is_said_before_the_workers_begin(folder, client, tmp_path, monkeypatch):
    pl.read_parquet(folder / "p0.parquet")[:0].write_parquet(tmp_path / "nothing.parquet")
    with pytest.raises(SynafaError, match="The table has no rows"):
        cluster_counts(str(tmp_path), "y", client)
    with pytest.raises(SynafaError, match="There is no column 'z' for the target"):
        cluster_counts(str(folder), "z", client)
    asked = []
    monkeypatch.setattr(cluster_module, "check_memory", lambda *shape: asked.append(shape))
    cluster_counts(str(folder), "y", client)
    assert asked == [(5, 2, 2), (5, 2, 3, True)], "at least two classes; then those that are there"


def test_no_worker_merges_tiles_with_each_other(folder, client, monkeypatch):
    """A tile is merged over the parts, so that no worker ever holds all pairs."""
    merged, submit = [], client.submit

    def watched(work, *arguments, **settings):
        future = submit(work, *arguments, **settings)
        if work is worker.merge:
            merged.append(future)
        return future

    monkeypatch.setattr(client, "submit", watched)
    found = cluster_counts(str(folder), "y", client, parts=4, tile=2)
    tiles = [set(unpack_arrays("part", future.result())[0]) for future in merged]
    tiles = [names for names in tiles if any(name.startswith("tile-") for name in names)]
    assert len(tiles) == 6 * 3, "six tiles of four parts each, merged in pairs"
    assert {len(names) for names in tiles} == {1}
    assert_equal(found, stream_counts(str(folder), "y"))
