"""A policy of 20,000 features: time and memory of the fit, episodes, the model file and the cold `synafa next`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import line, seconds
from synafa import SynAFA, load_model

N, D, ROWS = 10_000, 20_000, 2_000


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal values: an exclusive or of two features, twenty weak ones, noise."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d), np.float32)
    for first in range(0, d, 1000):
        X[:, first : first + 1000] = rng.normal(size=(n, min(1000, d - first)))
    y = ((X[:, 3] > 0) ^ (X[:, 7] > 0) ^ (rng.random(n) < 0.1)).astype(int)
    X[:, 100:120] += 0.3 * y[:, None].astype(np.float32)
    return X, y


def measure(n: int, d: int, folder: Path) -> dict[str, float]:
    """Fit, ask, save and read back, in this process."""
    X, y = table(n, d)
    found: dict[str, float] = {}
    policy = SynAFA(budget=10, cost_weight=0.001)
    found["fit"] = seconds(lambda: policy.fit(X, y))
    found["first answer"] = seconds(policy.next_feature)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 - X.nbytes / 2**30
    found["reach"] = policy.rule_.kept.reach
    policy.acquire(X[:10])
    found["acquire"] = seconds(lambda: policy.acquire(X[:ROWS]))
    path = folder / "wide.synafa"
    found["save"] = seconds(lambda: policy.save(path))
    found["file"] = path.stat().st_size / 1e6
    found["load"] = seconds(lambda: load_model(path))
    same = load_model(path).acquire(X[:ROWS]).order.tobytes() == policy.acquire(X[:ROWS]).order.tobytes()
    command = [str(Path(sys.executable).with_name("synafa")), "next", str(path), "--observed", "x3=1"]
    found["next"] = min(seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(2))
    found["whole memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 - X.nbytes / 2**30
    return {**found, "same": same}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # in a process of its own: its peak is that of the fit alone
        child = [sys.executable, "-m", "benchmarks.bench_wide", str(N), str(D), folder]
        told = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    found = json.loads(told)
    line(f"fit of {N:,} x {D:,} float32, compiled code at hand", found["fit"], "s", 60.0)
    line("  peak memory beyond the input, of fit and a first answer", found["memory"], "GiB", 4.0)
    line("  the first answer", found["first answer"], "s")
    line(f"  acquire {ROWS:,} rows, budget 10 (reach {found['reach']})", found["acquire"], "s")
    line("  save, with the decision graph", found["save"], "s")
    line("  model file", found["file"], "MB", 200.0)
    line("  load_model", found["load"], "s")
    line("  synafa next on it, cold", found["next"], "s")
    line("  peak memory beyond the input, of all of it", found["whole memory"], "GiB", 4.0)
    line("  episodes of the loaded and of the fitted policy are the same", float(found["same"]), "", 1.0, at_most=False)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
