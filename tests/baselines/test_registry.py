"""The table of published policies is what the words about it say."""

from __future__ import annotations

import re
from pathlib import Path

from synafa.baselines import REGISTRY, registry

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ROOT = Path(__file__).resolve().parents[2]


def test_the_number_of_policies_is_the_one_that_is_named():
    files = {entry.module_path for entry in REGISTRY.values()}
    papers = {entry.paper for entry in REGISTRY.values()}
    assert len(files) == len(papers), "one file each"
    named = re.findall(
        r"(\w+) published policies", registry.__doc__ + (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    )
    assert named
    assert {NUMBERS.index(word.lower()) for word in named} == {len(files)}
