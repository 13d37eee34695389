"""Seeded campaigns: thousands of mutated inputs, each of which must end in an answer or in one sentence.

An attempt gets its own random generator and an empty folder and returns a word for how it ended; whatever it raises is
a failure, kept with the seed that repeats it.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PATIENCE = 120  # seconds of processor (the clock also runs while a process is stopped): then it has no end
Attempt = Callable[[np.random.Generator, Path], str]


@dataclass(frozen=True)
class Campaign:
    """A class of hostile input: `small` attempts in the ordinary tests, `full` in `python -m tests.faults --full`."""

    name: str
    attempt: Attempt
    small: int
    full: int


@dataclass
class Tally:
    """How the attempts of a campaign ended."""

    name: str
    tries: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run_campaign(campaign: Campaign, tries: int, seed: int = 0) -> Tally:
    """Make the attempts; attempt i of a seed is the same in every run, however many there are."""
    tally = Tally(campaign.name)
    for i in range(tries):
        folder = Path(tempfile.mkdtemp(prefix="synafa-faults-"))
        signal.signal(signal.SIGPROF, _no_end)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            tally.outcomes[campaign.attempt(np.random.default_rng([seed, i]), folder)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            where = traceback.format_exc(limit=-3)
            tally.failures.append(f"{campaign.name} seed={seed} attempt={i}: {type(error).__name__}: {error}\n{where}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            shutil.rmtree(folder, ignore_errors=True)
        tally.tries += 1
    return tally


def _no_end(*_: object) -> None:
    raise TimeoutError(f"no end after {PATIENCE} s")


def one_sentence(text: str, most: int = 1000) -> None:
    """Fail unless a message is one line of at most `most` characters that does not speak of itself as unexpected."""
    assert text.strip(), "an empty message"
    assert "\n" not in text.strip(), f"more than one line: {text[:300]!r}"
    assert len(text) < most, f"a message of {len(text)} characters: {text[:300]!r}"
    assert "Unexpected" not in text, text[:300]
    assert "Traceback" not in text, text[:300]
