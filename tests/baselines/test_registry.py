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
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "docs" / "images" / "flow.svg"]
    words = [registry.__doc__, *(page.read_text(encoding="utf-8") for page in pages)]
    named = [word for text in words for word in re.findall(rf"\b({'|'.join(NUMBERS)}) published policies", text, re.I)]
    assert len(named) > 1
    assert {NUMBERS.index(word.lower()) for word in named} == {len(files)}
