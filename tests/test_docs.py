"""Every command printed in the documentation runs as printed."""

from __future__ import annotations

import re
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from synafa.cli.app import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/first-steps.md", "docs/guide.md", "docs/cli.md")


def commands(page):
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands of all pages run, one page after the other, as a reader would."""
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def done():
    """Commands that ran already: pages repeat each other."""
    return set()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_in_the_documentation_run_as_printed(page, folder, done, monkeypatch, capsys):
    def end_of_input(prompt):
        raise EOFError

    monkeypatch.chdir(folder)
    monkeypatch.setenv("SYNAFA_CACHE", str(folder / "cache"))
    monkeypatch.setattr("builtins.input", end_of_input)
    lines = commands(page)
    assert len(lines) >= 5
    if not (folder / "demo").exists():  # a page by itself
        lines = ["synafa demo --output demo", *lines]
    for line in lines:
        program, *words = shlex.split(line)
        if program != "synafa" or line in done:  # `python -m pip install` is the set-up of these tests themselves
            continue
        assert run(words) == 0, f"{line}\n{capsys.readouterr().err}"
        done.add(line)
        for option in ("-o", "--output"):
            if option in words:
                assert (folder / words[words.index(option) + 1]).exists(), f"{line} wrote nothing"
    assert (folder / "demo" / "report.html").exists()


def test_the_readme_goes_the_whole_way_of_a_practitioner():
    """From a table with prices to a model, a question, a conversation, a card and a proof, all by commands."""
    lines = commands("README.md")
    for word in ("demo", "fit", "next", "card", "graph", "report", "pairs"):
        assert any(line.startswith(f"synafa {word} ") for line in lines), word
    assert any("--interactive" in line for line in lines)
    assert sum("--prices demo/prices.csv" in line for line in lines) >= 2
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for named in ("`make demo`", "`make test`", "synafa serve "):
        assert named in text


def script(name: str):
    """A script of the documentation as a module."""
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_quote_the_committed_study():
    """`python docs/make_tables.py` writes the tables."""
    tables = script("make_tables")
    report = tables.REPORT.read_text(encoding="utf-8")
    quoted = {path.name: path.read_text(encoding="utf-8") for path in tables.PAGES}
    for name, page in quoted.items():
        assert tables.titles(page), f"{name} quotes no table"
        assert tables.with_tables(page, report) == page, f"a table of {name} is old: docs/make_tables.py"
    assert tables.titles(quoted["leaderboard.md"]) == ["Mean ranks", "AUROC of every policy"]
    assert "| plan tree |" in quoted["leaderboard.md"]


def test_the_command_line_page_has_every_command_and_option():
    """`python docs/make_options.py` writes the tables."""
    options = script("make_options")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, command in options.commands():
        assert options.table(name, command) in page, f"the table of {name} is missing or old: docs/make_options.py"
    known = {word for _, command in options.commands() for one in command.params for word in one.opts}
    known |= {word for _, command in options.commands() for one in command.params for word in one.secondary_opts}
    for file in PAGES:
        text = (ROOT / file).read_text(encoding="utf-8")
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help", "--version"}
        assert named <= known, f"{file} names {sorted(named - known)}"


def test_links_between_the_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(pages) > 8
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            made = target.startswith(("auto_examples/", "api/"))  # pages that `make docs` writes, and checks
            found = made or target.startswith(("https://", "http://")) or (page.parent / target).exists()
            assert found, f"{page.name} points to {target}"
