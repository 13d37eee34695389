"""Every command printed in the documentation runs as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from synafa.cli.app import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/guide.md", "docs/cli.md")


def commands(page):
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
def test_the_commands_in_the_documentation_run_as_printed(tmp_path, monkeypatch, capsys):
    def end_of_input(prompt):
        raise EOFError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("builtins.input", end_of_input)
    seen = set()
    for page in PAGES:
        for line in commands(page):
            program, *words = shlex.split(line)
            if program != "synafa" or line in seen:  # `python -m pip install` is the set-up of these tests themselves
                continue
            seen.add(line)
            assert run(words) == 0, f"{line}\n{capsys.readouterr().err}"
    assert (tmp_path / "demo" / "report.html").exists()
    assert len(seen) > 15


def test_links_between_the_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(pages) > 8
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            made = target.startswith(("auto_examples/", "api/"))  # pages that `make docs` writes, and checks
            found = made or target.startswith(("https://", "http://")) or (page.parent / target).exists()
            assert found, f"{page.name} points to {target}"
