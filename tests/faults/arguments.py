"""Arguments of the command line: any words in any place end in an answer, or in one sentence and exit code 2."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np

from synafa.cli.app import run
from tests.faults.campaign import one_sentence

WORDS = (
    "", " ", "-", "--", "-1", "0", "1", "2", "1e999", "nan", "inf", "-inf", str(10**30), str(2**63), "1e-400", "a",
    "b", "y", "a=1", "a=", "=1", "a=nan", "a=1=2", "b=x", "a=" + "9" * 400, "\0", "a\0=1", "ö", "\U0001f600",
    "x" * 3000, ",", "a,b", "a,,b", "strict", "missing", "stop", "text", "/", "nowhere/x", ".", "..", "*", "~",
    "no.csv", "no.json", "%s", "{}", "[" * 3000, "true", "--json", "--help", "\n", "a\nb",
)  # fmt: skip
OUTPUTS = ("-o", "--output", "--heatmap", "--checkpoint")
OPTIONS = {
    "fit": (
        "--target", "--costs", "--budget", "--bins", "--known", "--unavailable", "--drop", "--cost-weight",
        "--affordability", "--nearly-numeric", "--policy", "--prices", "--errors", "--group", "--seed", "--memory",
        "--checkpoint", "-o",
    ),
    "next": ("--observed", "--remaining", "--unavailable"),
    "acquire": ("--unavailable", "--budget", "--on-stop", "--memory", "-o"),
    "card": ("-o", "--json"),
    "graph": ("--max-depth", "--min-share", "--title", "-o"),
    "pairs": ("--target", "--top", "--bins", "--drop"),
    "scan": ("--target", "--method", "--fdr", "--max-missing", "--min-rows", "--top", "--seed", "-o", "--heatmap"),
    "report": ("--target", "--prices", "--errors", "--group", "--seed", "--drop", "--budget", "-o"),
    "evaluate": ("--target", "--policy", "--budget", "--seed", "--prices", "--instance", "-o"),
    "leaderboard": ("--target", "--policy", "--budget", "--seed", "--prices", "-o"),
    "serve": ("--host", "--port"),
}  # fmt: skip


@cache
def _files() -> tuple[str, str]:
    """A table and a model, made once."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="synafa-arguments-"))
    table = folder / "t.csv"
    table.write_text("a,b,y\n" + "".join(f"{i % 7},{'xz'[i % 2]},{int(i % 7 > 3)}\n" for i in range(250)))
    model = folder / "m.synafa"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert run(["fit", str(table), "--target", "y", "-o", str(model)]) == 0
    return str(table), str(model)


def attempt(rng: np.random.Generator, folder: Path) -> str:
    """A command with its usual words, mostly with some of them replaced, doubled or left out."""
    table, model = _files()
    commands = {
        "fit": [table, "--target", "y", "-o", str(folder / "m.synafa")],
        "next": [model, "--observed", "a=1"],
        "acquire": [model, table, "-o", str(folder / "run.csv")],
        "graph": [model, "-o", str(folder / "g.json")],
        "card": [model, "-o", str(folder / "c.html")],
        # These three would compute for minutes: what they are given to compute with is not there.
        "report": [str(folder / "no.csv"), "--target", "y", "-o", str(folder / "r.html")],
        "evaluate": ["--data", str(folder / "no.csv"), "--target", "y", "-o", str(folder / "e.json")],
        "leaderboard": ["--data", str(folder / "no.csv"), "--target", "y", "-o", str(folder / "l.json")],
        "pairs": [table, "--target", "y"],
        "scan": [table, "--target", "y", "-o", str(folder / "s.parquet")],
        "serve": [model, "--port", "99999"],  # a port that does not exist: the campaign must not start to serve
    }
    name = str(rng.choice(sorted(commands)))
    words = list(commands[name])
    for _ in range(0 if rng.random() < 0.1 else rng.integers(1, 4)):
        change = rng.integers(3)
        if change == 0 and name != "serve":
            at = int(rng.integers(len(words)))
            if words[at] not in OUTPUTS and not words[at].endswith("no.csv"):
                words[at] = _word(rng)
        elif change == 1 and name != "serve":
            at = int(rng.integers(len(words)))
            if words[at] != "--data" and not words[at].endswith("no.csv"):
                del words[at]
        else:
            option = str(rng.choice(OPTIONS[name]))
            if option in OUTPUTS:  # outputs stay in the folder of this attempt
                words += [option, str(folder / _word(rng).replace("/", "_").replace("\0", "_")[:100])]
            elif option != "--port":
                words += [option, _word(rng)]
        if not words:
            break
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([name, *_inside(words, folder)])
    if code == 0:
        return "answered"
    assert code == 2, f"exit code {code}: {words!r} {err.getvalue()[:300]}"
    one_sentence("\n".join(line for line in err.getvalue().splitlines() if not line.startswith("Note: ")))
    return "refused"


def _word(rng: np.random.Generator) -> str:
    return WORDS[rng.integers(len(WORDS))]


def _inside(words: list[str], folder: Path) -> list[str]:
    """The same words, with every output inside the attempt's own folder, whatever was replaced before."""
    safe = list(words)
    for i, word in enumerate(safe[:-1]):
        if word in OUTPUTS and not safe[i + 1].startswith(str(folder)):
            safe[i + 1] = str(folder / "out")
    return safe
