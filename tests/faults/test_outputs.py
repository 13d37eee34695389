"""Where output may go: files are whole or absent, links are followed, pipes and devices are written to."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading

import polars as pl
import pytest

from synafa.cli.app import run
from synafa.errors import SynafaError
from synafa.files import atomic_path, is_stream, write_text
from synafa.model.storage import load_model

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "import sys; from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"]


def device(folder, number):
    """A memory device (3: null, 7: full); an administrator gets a new node: a mistake must not rename over /dev."""
    if os.geteuid() != 0:
        return {3: "/dev/null", 7: "/dev/full"}[number]
    path = folder / f"device{number}"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, number))
        path.read_bytes() if number == 3 else None
    except OSError:
        pytest.skip("this machine lets nobody make a device")
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 2},{i % 3},{(i % 2) ^ (i % 3 > 1)}\n" for i in range(60)))
    return path


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("real/old.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "real" / "old.txt").read_text() == "new"
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["old.txt"]


def test_a_link_to_nothing_makes_the_file_it_points_to(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "later.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "later.txt").read_text() == "new"


def test_a_folder_is_refused_and_left_alone(tmp_path):
    with pytest.raises(SynafaError, match="is a folder"):
        write_text(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []


def test_in_synafas_own_places_a_folder_is_set_aside_not_deleted(tmp_path):
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "precious").write_text("kept")
    with atomic_path(tmp_path / "entry", own=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "entry").read_text() == "new"
    assert (tmp_path / "entry.set-aside-1" / "precious").read_text() == "kept"


def test_a_pipe_receives_the_bytes_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert received == ["through"]
    assert pipe.is_fifo()


def test_devices_are_written_to_and_stay_devices(tmp_path):
    null = device(tmp_path, 3)
    write_text(null, "gone")
    assert stat.S_ISCHR(os.stat(null).st_mode)
    assert is_stream("/dev/stdout")
    assert is_stream(null)
    assert not is_stream(tmp_path / "new.txt")


def test_a_full_disk_is_called_a_full_disk(tmp_path):
    full = device(tmp_path, 7)
    with pytest.raises(SynafaError, match="disk is full"):
        write_text(full, "text")
    frame = pl.DataFrame({"a": range(100_000)})
    (tmp_path / "out").mkdir()

    def write() -> None:
        with atomic_path(tmp_path / "out" / "t.parquet") as temporary:
            temporary.unlink()
            temporary.symlink_to(full)
            frame.write_parquet(temporary)

    with pytest.raises(SynafaError, match="disk is full"):
        write()
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_is_called_that_when_a_library_stumbles_while_it_cleans_up(tmp_path):
    def write() -> None:
        with atomic_path(tmp_path / "card.pdf"):
            try:
                raise OSError(errno.ENOSPC, "No space left on device")
            finally:
                raise AttributeError("'Stream' object has no attribute 'pos'")

    with pytest.raises(SynafaError, match="disk is full"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_writer_stays_that_error(tmp_path):
    def write() -> None:
        with atomic_path(tmp_path / "a") as temporary:
            temporary.write_text("half")
            raise KeyError("not about disks")

    with pytest.raises(KeyError, match="disks"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_private_file_stays_private_and_a_new_one_is_ordinary(tmp_path):
    write_text(tmp_path / "a", "1")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~umask
    (tmp_path / "a").chmod(0o600)
    write_text(tmp_path / "a", "2")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_names_as_long_as_the_system_allows_are_written(tmp_path):
    write_text(tmp_path / ("n" * 255), "text")
    write_text(tmp_path / ("ö" * 127), "text")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_standard_output_gets_the_model_and_nothing_else(table, tmp_path):
    model = tmp_path / "model.synafa"
    with model.open("wb") as out:  # /dev/fd/1 and not /dev/stdout, which a mistake could rename away
        done = subprocess.run(
            [*COMMAND, "fit", str(table), "--target", "y", "-o", "/dev/fd/1"], stdout=out, stderr=subprocess.PIPE
        )
    assert done.returncode == 0, done.stderr
    assert b"Fitted on 60 rows" in done.stderr
    assert load_model(model).policy_.encoder_.feature_names_ == ("a", "b")


@pytest.mark.slow
def test_graph_and_acquire_take_standard_output_too(table, tmp_path):
    model = tmp_path / "model.synafa"
    assert run(["fit", str(table), "--target", "y", "-o", str(model)]) == 0
    for words, start in (
        (["graph", str(model)], b"<!DOCTYPE html>"),
        (["acquire", str(model), str(table)], b"row,step,feature,branch,cost\n"),
    ):
        done = subprocess.run([*COMMAND, *words, "-o", "/dev/fd/1"], capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.lower().startswith(start.lower())
        assert done.stderr


@pytest.mark.parametrize("words", [["graph"], ["acquire", "table"]])
def test_a_folder_as_output_is_one_sentence(words, table, tmp_path, capsys):
    model = tmp_path / "m"
    assert run(["fit", str(table), "--target", "y", "-o", str(model)]) == 0
    folder = tmp_path / "folder.json"
    folder.mkdir()
    given = [str(table) if word == "table" else word for word in words[1:]]
    assert run([words[0], str(model), *given, "-o", str(folder)]) == 2
    assert "is a folder" in capsys.readouterr().err
