"""Writes tables of the committed study into the pages that quote them: `python docs/make_tables.py`.

A table stands between `<!-- table TITLE -->` and `<!-- end -->`, as docs/study/README.md has it under that title;
`tests/test_docs.py` says when one is out of date.
"""

from __future__ import annotations

import re
from pathlib import Path

from synafa.files import write_text

HERE = Path(__file__).resolve().parent
PAGES = tuple(HERE / name for name in ("leaderboard.md", "plan_tree.md", "study.md"))
REPORT = HERE / "study" / "README.md"
BLOCK = re.compile(r"<!-- table ([^>]+) -->\n.*?<!-- end -->", re.DOTALL)


def section(report: str, title: str) -> str:
    """What the report says under a title of the second or third level."""
    found = re.search(rf"^###? {re.escape(title)}\n+(.*?)(?=^##|\Z)", report, re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"docs/study/README.md has no section {title!r}; run `synafa study report`.")
    return found[1].strip()


def titles(page: str) -> list[str]:
    """The tables that a page quotes."""
    return [found[1] for found in BLOCK.finditer(page)]


def with_tables(page: str, report: str) -> str:
    """The page with every table as the report has it."""
    return BLOCK.sub(lambda found: f"<!-- table {found[1]} -->\n{section(report, found[1])}\n<!-- end -->", page)


if __name__ == "__main__":
    text = REPORT.read_text(encoding="utf-8")
    for path in PAGES:
        write_text(path, with_tables(path.read_text(encoding="utf-8"), text))
