"""The local page: how long a client waits for an answer over 2,000 requests on 50 open connections.

`paced`: every connection asks four times a second, as many people at many pages would. `at once`: every connection asks
again as soon as it has its answer, so that 50 requests are always under way and each waits for 49 others.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import line

CONNECTIONS, REQUESTS = 50, 2000
_CODE = "import sys; from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"


def main() -> None:
    from synafa import AcquisitionClassifier, SynAFA

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.synafa"
        SynAFA(budget=8).fit(X, y).save(path)
        _serve(path, "synafa")
        AcquisitionClassifier().fit(X[:1000, :10], y[:1000]).save(path)
        _serve(path, "plan tree")


def _serve(path: Path, model: str) -> None:
    """Measure one model behind its own server."""
    words = [sys.executable, "-u", "-c", _CODE, "serve", str(path), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        asyncio.run(_measure(int(found[1]), pause=0.0, requests=200))  # warm
        for name, pause in (("paced", 0.25), ("at once", 0.0)):
            times = 1000 * np.array(asyncio.run(_measure(int(found[1]), pause, REQUESTS)))
            bars = (3.0, 30.0) if pause else (None, None)
            what = f"web, {model}, {CONNECTIONS} connections, {name}"
            line(f"{what}: p50", float(np.quantile(times, 0.5)), "ms", bars[0])
            line(f"{what}: p99", float(np.quantile(times, 0.99)), "ms", bars[1])
        start = time.perf_counter()
        process.terminate()
        process.wait(30)
        line(f"web, {model}, from SIGTERM to the end", time.perf_counter() - start, "s", 5.0)
    finally:
        process.kill()


def _request(number: int) -> bytes:
    """A case that no other request has: an answer that was kept would be no measurement."""
    body = json.dumps({"observed": {"x0": number / 997, "x3": -number / 1009}}).encode()
    head = "POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _measure(port: int, pause: float, requests: int) -> list[float]:
    """Seconds from sending each request to its whole answer."""
    each = requests // CONNECTIONS
    parts = await asyncio.gather(*(_client(port, i, each, pause) for i in range(CONNECTIONS)))
    return [seconds for part in parts for seconds in part]


async def _client(port: int, number: int, requests: int, pause: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    await asyncio.sleep(pause * number / CONNECTIONS)
    for i in range(requests):
        request = _request(number * requests + i)
        start = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert length is not None
        assert b" 200 " in head
        await reader.readexactly(int(length[1]))
        times.append(time.perf_counter() - start)
        await asyncio.sleep(max(0.0, pause - times[-1]))
    writer.close()
    return times


if __name__ == "__main__":
    main()
