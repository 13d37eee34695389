"""Counts, tables, episodes, imports and the cold start of `synafa next`."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import in_turns, line, seconds
from synafa import Discretizer, InformationTables, PairCounts, SynAFA, SynafaError
from synafa.datasets import load

N, D = 36_000, 784


def matrices() -> dict[str, np.ndarray]:
    """A dense matrix, one as sparse as images are, and the study's images when their file is there."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(N, D)).astype(np.float32)
    found = {"dense": dense, "sparse": np.maximum(dense - 0.9, 0)}
    try:
        images = load("mnist-loop")
    except SynafaError:
        return found
    return {**found, "MNIST-loop": np.ascontiguousarray(images.X[images.train], dtype=np.float32)}


def tables_against_one_matrix_product() -> None:
    """Everything from a float32 matrix to single, pair and cond, against one `X.T @ X`."""
    for name, X in matrices().items():
        _tables_of(name, X, np.random.default_rng(1).integers(0, 2, len(X)))


def _tables_of(name: str, X: np.ndarray, y: np.ndarray) -> None:
    counts = PairCounts.from_values(X, y)
    product, whole, count, information, by_codes = in_turns(
        lambda: X.T @ X,
        lambda: InformationTables.from_values(X, y),
        lambda: PairCounts.from_values(X, y),
        lambda: InformationTables.from_counts(counts),
        lambda: InformationTables.from_codes(Discretizer().fit(X).transform(X), y),
        awake=True,
    )
    print(f"  {len(X):,} x {D} {name}: X.T @ X {product:.3f} s; values to tables {whole:.3f} s, of which ", end="")
    print(f"counts {count:.3f}, tables {information:.3f}; by way of codes {by_codes:.3f} s")
    line(f"all tables of a {name} matrix / one X.T @ X", whole / product, "times", 1 / 3)
    asleep = in_turns(lambda: X.T @ X, lambda: InformationTables.from_values(X, y))
    line("  the same after a pause, threads to be woken on both sides", asleep[1] / asleep[0], "times")


def episodes() -> None:
    """`acquire` of 12,000 rows at D = 784 and budget 20, and the memory it needs."""
    X = matrices()["sparse"]
    y = (X[:, :20].sum(axis=1) > X[:, 20:40].sum(axis=1)).astype(int)
    policy = SynAFA(budget=20, cost_weight=0.001).fit(X, y)
    rows = X[:12_000].copy()
    (took,) = in_turns(lambda: policy.acquire(rows), rounds=3)
    line("acquire 12,000 rows, D = 784, budget 20", took, "s", 2.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line("peak memory of this process, fit and acquire", peak, "GiB", 1.2)


def cold_starts() -> None:
    """`import synafa` against `import sklearn`, and `synafa next` in a fresh process."""
    sklearn, synafa, bare = in_turns(
        lambda: subprocess.run([sys.executable, "-c", "import sklearn"], check=True),
        lambda: subprocess.run([sys.executable, "-c", "import synafa"], check=True),
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
    )
    line("import synafa / import sklearn, python's own start taken off", (synafa - bare) / (sklearn - bare), "times", 1)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(2000, 41)).astype(float)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.synafa"
        SynAFA(budget=5).fit(X, (X[:, 3] + X[:, 5] > 1).astype(int)).save(model)
        command = [str(Path(sys.executable).with_name("synafa")), "next", str(model), "--observed", "x3=1"]
        took = min(seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(3))
    line("synafa next on a saved model, cold", took, "s", 1.5)


def pid_against_dit() -> None:
    """All pairs at once against one pair of dit's PID_WB (extra `oracle`)."""
    try:
        import dit
        from dit.pid import PID_WB
    except ImportError:
        print("  dit is not installed: pip install 'synafa[oracle]' adds the comparison with its PID_WB")
        return
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(2400, 41)).astype(np.uint8)
    y = codes[:, 0] ^ codes[:, 1]
    cells, weights = np.unique(np.column_stack([codes[:, :2], y]), axis=0, return_counts=True)
    law = dit.Distribution(["".join(map(str, cell)) for cell in cells], (weights / weights.sum()).tolist())
    theirs, ours = in_turns(
        lambda: PID_WB(law, [[0], [1]], [2]),
        lambda: InformationTables.from_codes(codes, y).pid(),
        rounds=3,
    )
    pairs = 41 * 40 / 2
    line(f"dit, one pair / synafa, one of {pairs:.0f} pairs", theirs / (ours / pairs), "times")


def main() -> None:
    tables_against_one_matrix_product()
    episodes()
    cold_starts()
    pid_against_dit()


if __name__ == "__main__":
    main()
