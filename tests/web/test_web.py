"""The web page of a model: it says what `next_feature` says, refuses in one sentence, and needs no other server."""

from __future__ import annotations

import asyncio
import json
import re
import select
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import polars as pl
import pytest

from synafa import SynAFA
from synafa.cli.app import run
from synafa.errors import MissingExtraError, SynafaError
from synafa.model.storage import load_bedside
from synafa.web import app as web


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A model in which lab1 and lab2 count only together, with a text feature that is known from the start."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (600, 2))
    table = pl.DataFrame(
        {"lab1": bits[:, 0] * 3.5, "lab2": bits[:, 1], "sex": rng.choice(["f", "m"], 600), "flat": [1.0] * 600}
    )
    policy = SynAFA(budget=4, costs={"lab1": 2}).fit(
        table, bits[:, 0] ^ bits[:, 1], known=["sex"], target="the outcome"
    )
    path = tmp_path_factory.mktemp("web") / "m.synafa"
    policy.save(path)
    return path


@pytest.fixture(scope="module")
def rule(path):
    return load_bedside(path)


def call(app, method, path, body=b"", host="127.0.0.1:8000"):
    """One request to an ASGI application: status, headers and body."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
    }
    asyncio.run(app(scope, receive, send))
    start, *pieces = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, b"".join(piece.get("body", b"") for piece in pieces)


@pytest.fixture(scope="module")
def ask(rule):
    app = web.create_app(rule)

    def ask(case):
        body = case if isinstance(case, bytes) else json.dumps(case).encode()
        status, _, answer = call(app, "POST", "/api/next", body)
        return status, json.loads(answer)

    return ask


def test_the_answer_is_the_recommendation_of_the_rule(rule, ask):
    for case in ({}, {"observed": {"lab1": 3.5, "sex": "m"}}, {"unavailable": ["lab1"], "remaining": 1}):
        wanted = rule.next_feature(
            case.get("observed"), unavailable=case.get("unavailable", ()), remaining=case.get("remaining")
        )
        assert ask(case) == (200, wanted.to_dict())
    assert ask({"observed": None, "unavailable": None, "remaining": None})[1]["branch"] == "pair"
    assert ask({"remaining": 0})[1]["feature"] == "sex", "known from the start, so it costs nothing"
    assert ask({"remaining": 0, "observed": {"sex": "m"}})[1]["feature"] is None


def test_what_was_typed_as_text_counts_as_its_number(ask):
    text, number = ask({"observed": {"lab1": "3.5"}})[1], ask({"observed": {"lab1": 3.5}})[1]
    assert (text.pop("observed"), number.pop("observed")) == ({"lab1": "3.5"}, {"lab1": 3.5})
    assert text == number
    assert ask({"observed": {"lab1": None}})[1]["remaining"] == 2, "without a result, but paid"


@pytest.mark.parametrize(
    ("case", "word"),
    [
        ({"observed": {"lab3": 1}}, "did you mean"),
        ({"observed": {"lab1": "high"}}, "'high' is not a number"),
        ({"observed": {"lab1": "3,5"}}, "'3,5' is not a number"),
        ({"observed": {"lab1": ""}}, "lab1"),
        ({"observed": {"lab1": [1]}}, "number, a string"),
        ({"observed": {"lab1": 10**400}}, "number, a string"),
        ({"observed": {"lab1": float("inf")}}, "infinite"),
        ({"observed": {"sex": "x"}}, "the values are: f, m"),
        ({"observed": ["lab1"]}, "observed must be"),
        ({"unavailable": "lab1"}, "unavailable must be"),
        ({"unavailable": ["lab9"]}, "lab9"),
        ({"remaining": -1}, "remaining must be"),
        ({"remaining": "much"}, "remaining must be"),
        ({"remaining": True}, "remaining must be"),
        ({"remaining": float("nan")}, "remaining must be"),
        ({"budget": 3}, "Unknown field 'budget'"),
        ([], "must be a JSON object"),
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b" " * (web.MAX_BODY + 1), "longer than"),
    ],
)
def test_a_case_that_cannot_be_read_is_refused_in_one_sentence(ask, case, word):
    status, answer = ask(case)
    assert status == 400
    assert set(answer) == {"error"}
    assert word in answer["error"]
    assert answer["error"].endswith(".")
    assert "\n" not in answer["error"]


def test_the_model_is_described_with_costs_categories_and_cuts(rule):
    status, headers, body = call(web.create_app(rule), "GET", "/api/model")
    model = json.loads(body)
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert (model["target"], model["classes"], model["budget"]) == ("the outcome", ["0", "1"], 4)
    lab1, lab2, sex, flat = model["features"]
    assert (lab1["cost"], lab1["cuts"], lab1["known"]) == (2, [1.75], False)
    assert (lab2["cost"], lab2["cuts"]) == (1, [0.5])
    assert (sex["categories"], sex["known"], sex["low"]) == (["f", "m"], True, None)
    assert flat["cuts"] == []


def test_the_page_loads_nothing_from_elsewhere_and_the_browser_holds_it_to_that(rule):
    status, headers, body = call(web.create_app(rule), "GET", "/")
    page = body.decode()
    assert status == 200
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?://|//cdn|@import|<script src|url\(", page)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert policy.count("'sha256-") == page.count("<script>") == 1
    assert "innerHTML" not in page  # a feature's name is text, never markup


def test_other_paths_methods_and_host_names_are_refused(rule):
    app = web.create_app(rule)
    assert call(app, "GET", "/etc/passwd")[0] == 404
    status, _, body = call(app, "GET", "/api/next")
    assert status == 405
    assert "POST /api/next" in json.loads(body)["error"]
    assert call(app, "GET", "/", host="elsewhere.example")[0] == 400
    assert call(app, "GET", "/", host="localhost:9999")[0] == 200
    assert call(web.create_app(rule, hosts=("*",)), "GET", "/", host="elsewhere.example")[0] == 200


def test_without_starlette_the_extra_is_named(rule, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(MissingExtraError, match=r"synafa\[web\]"):
        web.create_app(rule)


def test_a_port_that_is_taken_is_one_sentence(path, capsys):
    with web.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert web.is_loopback(taken)
        assert web.address(taken) == f"http://127.0.0.1:{port}/"
        with pytest.raises(SynafaError, match=f"port {port}"):
            web.listen("127.0.0.1", port)
        assert run(["serve", str(path), "--port", str(port)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert run(["serve", str(path.parent / "none.synafa")]) == 2


def test_serve_answers_on_this_machine_until_interrupted_and_compiles_nothing(path):
    code = (
        "import sys; from synafa.cli.app import run; code = run(sys.argv[1:]); "
        "heavy = {'numba', 'sklearn', 'scipy', 'torch', 'polars', 'matplotlib'} & set(sys.modules); "
        "sys.exit(code or (f'imported {heavy}' if heavy else 0))"
    )
    words = [sys.executable, "-u", "-c", code, "serve", str(path), "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert select.select([server.stdout], [], [], 60)[0], "the server said nothing for a minute"
        found = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
        assert found
        with urllib.request.urlopen(found[0], timeout=120) as answer:
            assert b"Which measurement next?" in answer.read()
        body = json.dumps({"observed": {"lab1": 0}}).encode()
        with urllib.request.urlopen(found[0] + "api/next", data=body, timeout=120) as answer:
            assert json.load(answer)["feature"] == "lab2"
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=120)
    finally:
        server.kill()
    assert server.returncode == 0, err
    assert "Ended." in out
    assert err == ""
