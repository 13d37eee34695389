"""The page's server under bad clients: no waiting, no tracebacks, an end within five seconds."""

from __future__ import annotations

import json
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from synafa import SynAFA
from synafa.cli.app import run
from synafa.errors import SynafaError
from synafa.web import server as web_server

pytestmark = pytest.mark.slow

CODE = (
    "import sys; from synafa.web import server; server.HEAD_SECONDS = 1.0; server.BODY_SECONDS = 1.5\n"
    "from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"
)
BODY = json.dumps({"observed": {"x0": 1}}).encode()
HEAD = f"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(float)
    path = tmp_path_factory.mktemp("server") / "m.synafa"
    SynAFA(budget=2).fit(X, X[:, 0].astype(int) ^ X[:, 1].astype(int)).save(path)
    return path


@contextmanager
def serving(model, code=CODE):
    words = [sys.executable, "-u", "-c", code, "serve", str(model), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert select.select([process.stdout], [], [], 60)[0]
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        yield process, port
    finally:
        process.kill()
        process.communicate()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answer(connection):
    """Status and body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None, b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split()[1]), body


def test_an_open_connection_answers_again_and_again(model):
    with serving(model) as (_, port), connect(port) as connection:
        for _ in range(30):  # how long a client waits: benchmarks/bench_web.py
            connection.sendall(HEAD + BODY)
            assert answer(connection)[0] == 200


@pytest.mark.parametrize("sent", [b"POST /api/ne", HEAD[:-2], HEAD + BODY[:5], b"", HEAD + BODY])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_whatever_clients_do(model, sent, how):
    with serving(model, "import sys; from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))") as (process, port):
        with connect(port) as connection:
            connection.sendall(sent)
            time.sleep(0.2)
            process.send_signal(how)
            _, err = process.communicate(timeout=120)
        assert err == ""


def test_a_body_that_never_comes_is_answered_and_the_connection_closed(model):
    with serving(model) as (process, port):
        with connect(port) as connection:
            connection.sendall(HEAD + BODY[:5])
            status, body = answer(connection)
            assert status == 408
            assert "did not arrive" in json.loads(body)["error"]
            assert connection.recv(10) == b""
        with connect(port) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            assert connection.recv(10) == b""
        with connect(port) as connection:  # drop by drop is no way round it
            connection.sendall(HEAD)
            for byte in BODY:
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    break
                if select.select([connection], [], [], 0.3)[0]:
                    break
            assert answer(connection)[0] == 408
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[1] == ""


def test_a_client_that_leaves_is_not_news(model):
    with serving(model) as (process, port):
        for sent in (
            HEAD,
            HEAD + BODY[:3],
            HEAD + BODY,
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"\xff\xfe\r\n\r\n",
        ):
            for reset in (False, True):
                connection = connect(port)
                connection.sendall(sent)
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
        time.sleep(0.5)
        with connect(port) as connection:
            connection.sendall(HEAD + BODY)
            assert answer(connection)[0] == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert err == ""


def test_a_failure_inside_is_one_line_on_the_terminal_and_one_sentence_for_the_client(model):
    code = (
        "import sys; from synafa.policy.rule import DecisionRule\n"
        "DecisionRule.next_feature = lambda *a, **k: 1 // 0\n"
        "from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"
    )
    with serving(model, code) as (process, port), connect(port) as connection:
        connection.sendall(HEAD + BODY)
        status, body = answer(connection)
        assert status == 500
        assert "terminal" in json.loads(body)["error"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert err.count("\n") == 1
    assert "ZeroDivisionError" in err


def test_an_empty_host_does_not_mean_everyone(model, capsys):
    for host in ("", "  "):
        with pytest.raises(SynafaError, match="empty"):
            web_server.listen(host, 0)
        assert run(["serve", str(model), "--host", host, "--port", "0"]) == 2
    assert "0.0.0.0" in capsys.readouterr().err


def test_many_idle_connections_do_not_keep_others_waiting(model):
    with serving(model) as (_, port):
        idle = [connect(port) for _ in range(100)]
        with connect(port) as connection:
            connection.sendall(HEAD + BODY)
            assert answer(connection)[0] == 200
        for connection in idle:
            connection.close()
