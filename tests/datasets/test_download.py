"""Downloads over HTTP from a server on this machine: what arrives is checked, what fails leaves nothing behind."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synafa.cli.data import data_app
from synafa.datasets import describe, fetch, load_raw, registry, sources
from synafa.datasets.sources import DataFile
from synafa.errors import SynafaError

CONTENT = b"some,table\n1,2\n" * 2000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, bytes]]:
    """What the server answers, by path; its address is under the key "address". The cache is an empty folder."""
    answers: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = answers.get(self.path)
            self.send_response(200 if content is not None else 404)
            promised = len(content or b"") + (1000 if self.path.startswith("/broken") else 0)
            self.send_header("Content-Length", str(promised))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYNAFA_DATA", raising=False)
    answers["address"] = f"http://127.0.0.1:{server.server_port}".encode()
    yield answers
    server.shutdown()
    server.server_close()
    thread.join()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def at(served: dict[str, bytes], path: str) -> str:
    return served["address"].decode() + path


@pytest.mark.parametrize("progress", [False, True])
def test_a_download_is_checked_and_put_in_its_place(served, tmp_path, progress):
    served["/table.csv"] = CONTENT
    file = DataFile("folder/table.csv", sha256(CONTENT), len(CONTENT), at(served, "/table.csv"))
    path = sources.download(file, progress)
    assert path == tmp_path / "cache/data/folder/table.csv"
    assert path.read_bytes() == CONTENT
    assert sources.checked(file, "table") == path
    assert files_below(tmp_path) == [path]


@pytest.mark.parametrize("hash_known", [True, False])
def test_a_member_is_taken_out_of_an_archive(served, tmp_path, hash_known):
    archive = zipped("inner.csv", CONTENT)
    served["/all.zip"] = archive
    known = sha256(archive) if hash_known else ""
    file = DataFile("inner.csv", sha256(CONTENT), len(CONTENT), at(served, "/all.zip"), "inner.csv", known)
    assert sources.download(file, progress=False).read_bytes() == CONTENT
    assert [path.name for path in files_below(tmp_path)] == ["inner.csv"]


@pytest.mark.parametrize(
    "fault", ["altered", "absent", "broken", "altered member", "no member", "no archive", "no server"]
)
def test_a_failed_download_leaves_nothing_behind(served, tmp_path, fault):
    file = DataFile("table.csv", sha256(CONTENT), len(CONTENT), at(served, "/table.csv"))
    if fault == "altered":
        served["/table.csv"] = CONTENT + b"x"
    elif fault == "broken":
        served["/broken.csv"] = CONTENT[:5000]
        file = replace(file, url=at(served, "/broken.csv"))
    elif fault == "altered member":
        served["/table.csv"] = zipped("inner.csv", CONTENT + b"x")
        file = replace(file, member="inner.csv")
    elif fault == "no member":
        served["/table.csv"] = zipped("other.csv", CONTENT)
        file = replace(file, member="inner.csv")
    elif fault == "no archive":
        served["/table.csv"] = CONTENT
        file = replace(file, member="inner.csv")
    elif fault == "no server":
        file = replace(file, url="http://127.0.0.1:9/table.csv")
    with pytest.raises(SynafaError) as caught:
        sources.download(file, progress=False)
    message = str(caught.value)
    assert sha256(CONTENT) in message
    assert "nothing was kept" in message
    assert "SYNAFA_DATA" in message
    assert "\n" not in message
    assert files_below(tmp_path) == []
    assert [path for path in (tmp_path / "cache/data").iterdir() if path.name.startswith(".")] == []


def test_a_failed_download_keeps_the_file_that_was_there(served, tmp_path):
    served["/table.csv"] = b"altered"
    file = DataFile("table.csv", sha256(CONTENT), len(CONTENT), at(served, "/table.csv"))
    there = tmp_path / "cache/data/table.csv"
    there.parent.mkdir(parents=True)
    there.write_bytes(CONTENT)
    with pytest.raises(SynafaError):
        sources.download(file, progress=False)
    assert there.read_bytes() == CONTENT


@pytest.fixture
def small_physionet(served, monkeypatch) -> dict[str, bytes]:
    """A dataset entry whose file is a two-row table on the local server."""
    content = b"Age,HR,Outcome\n54,,0.0\n76,80,1.0\n"
    served["/p.csv"] = content
    file = DataFile("p.csv", sha256(content), len(content), at(served, "/p.csv"), verified=False)
    entry = registry.FILES["physionet"]
    variant = replace(entry.variants[0], files=(file,))
    monkeypatch.setitem(registry.FILES, "physionet", replace(entry, variants=(variant,)))
    return served


def test_loading_without_a_chosen_folder_downloads_once(small_physionet):
    assert load_raw("physionet").y.tolist() == [0, 1]
    del small_physionet["/p.csv"]
    assert load_raw("physionet").values.shape == (2, 2)


def test_a_chosen_folder_is_never_bypassed_by_a_silent_download(small_physionet, tmp_path, monkeypatch):
    monkeypatch.setenv("SYNAFA_DATA", str(tmp_path / "mine"))
    with pytest.raises(SynafaError, match=r"p.csv .* is not in .*mine nor .*cache"):
        load_raw("physionet")
    (path,) = fetch("physionet", progress=False)  # asked for: goes to the cache, and is then found there
    assert path.is_relative_to(tmp_path / "cache")
    assert len(load_raw("physionet").y) == 2


def test_fetch_replaces_an_altered_file_of_the_cache_and_reports_one_of_the_user(
    small_physionet, tmp_path, monkeypatch
):
    cached = tmp_path / "cache/data/p.csv"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"altered")
    with pytest.raises(SynafaError, match="synafa data fetch physionet"):
        load_raw("physionet")
    assert fetch("physionet", progress=False) == [cached]
    assert len(load_raw("physionet").y) == 2
    mine = tmp_path / "mine/p.csv"
    mine.parent.mkdir()
    mine.write_bytes(b"altered")
    monkeypatch.setenv("SYNAFA_DATA", str(mine.parent))
    with pytest.raises(SynafaError, match="altered or cut short"):
        fetch("physionet", progress=False)
    assert mine.read_bytes() == b"altered"


def test_the_command_line_lists_and_fetches(small_physionet, tmp_path):
    runner = CliRunner()
    before = {row["name"]: row for row in json.loads(runner.invoke(data_app, ["list", "--json"]).stdout)}
    assert before["physionet"]["state"] == "missing"
    assert before["physionet"]["note"] == "download address not verified"
    assert before["cube"]["state"] == "generated"
    answer = json.loads(runner.invoke(data_app, ["fetch", "physionet", "--json"]).stdout)
    assert answer == {"name": "physionet", "files": [str(tmp_path / "cache/data/p.csv")]}
    shown = runner.invoke(data_app, ["list"])
    assert shown.exit_code == 0
    assert "physionet" in shown.stdout
    assert {info.name: info.state for info in describe()}["physionet"] == "present"
    assert "nothing to fetch" in runner.invoke(data_app, ["fetch", "cube"]).stdout
    assert isinstance(runner.invoke(data_app, ["fetch", "nothing"]).exception, SynafaError)


def test_a_file_without_an_address_says_where_to_put_it():
    with pytest.raises(SynafaError, match="no download address: put it into the folder named by SYNAFA_DATA"):
        sources.download(registry.FILES["actg175"].variants[0].files[0])


def test_every_dataset_can_be_fetched_and_has_a_licence():
    for entry in registry.FILES.values():
        assert entry.licence
        for file in entry.variants[entry.fetched].files:
            assert file.url.startswith("https://")
            assert len(file.sha256) == 64
