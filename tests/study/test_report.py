"""The report and the commands: what a reader gets, and that it says which profile it speaks of."""

from __future__ import annotations

import csv
import json
import re
import types
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from synafa.cli.app import run as synafa
from synafa.errors import SynafaError
from synafa.report.figures import new_figure, svg_bytes
from synafa.study import Headline, Settings
from synafa.study.engine.runner import run_units
from synafa.study.engine.speed import REFERENCE, probe_seconds
from synafa.study.engine.store import Store
from synafa.study.engine.unit import with_needs
from synafa.study.evidence.verdict import Verdict
from synafa.study.experiments.contract import Experiment, load_experiments
from synafa.study.reporting.report import build_report
from synafa.study.reporting.times import times_table
from synafa.study.reporting.write import write_report
from tests.study import toy_experiment as toy

TOY = "tests.study.toy_experiment"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A finished toy study."""
    settings = Settings("quick", root=tmp_path_factory.mktemp("study"))
    run_units(toy.units(settings), Store(settings.results), workers=2)
    return settings


@pytest.fixture(scope="module")
def folder(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("report")
    write_report([Experiment(toy)], settings, output)
    return output


class Page(HTMLParser):
    """Collects what a page refers to and checks that its tags close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.links += [found["href"] or ""] if "href" in found else []
        self.sources += [found["src"] or ""] if "src" in found else []
        self.ids |= {found["id"] or ""} if "id" in found else set()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_no_network(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert all(source.startswith("data:image/") for source in page.sources)
    assert page.sources
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "<script" not in text
    assert "http" not in re.sub(r'src="data:[^"]*"', "", text)


def test_every_verdict_is_worded_and_every_table_says_its_profile(folder: Path) -> None:
    html, markdown = (folder / "report.html").read_text(), (folder / "README.md").read_text()
    for verdict in Verdict:
        assert verdict.value in html
        assert verdict.value in markdown
    assert html.count("profile quick") >= 4
    assert markdown.count("profile quick") >= 4
    assert "a &lt;word&gt; &amp; a | bar" in html
    assert r"a \| bar" in markdown


def test_the_first_page_counts_verdicts_and_has_at_most_ten_lines(settings: Settings) -> None:
    report = build_report([Experiment(toy)], settings)
    assert report.first_page[0].text == (
        "18 of the paper's numbers were compared (profile quick): 12 exact, 1 within our spread, "
        "1 with the same sign, both significant, 1 significant in neither, 2 differ and 1 with the opposite sign. "
        "Not compared: 1 no yardstick, 1 not comparable and 1 not run."
    )
    assert Headline("12 of 12 squares are right.", held=True) in report.first_page
    talkative = types.ModuleType("talkative")
    talkative.__dict__.update(vars(toy))
    talkative.headline = lambda results: [Headline(f"Fact {i}.", rank=20 - i) for i in range(20)]
    lines = build_report([Experiment(talkative)], settings).first_page
    assert len(lines) == 10
    assert lines[1].text == "Fact 19."


def test_results_of_another_profile_are_never_shown(settings: Settings) -> None:
    other = Settings("standard", root=settings.root)
    report = build_report([Experiment(toy)], other)
    assert len(report.sections[0].results) == 0
    assert report.verdicts[Verdict.EXACT] == 0
    assert report.verdicts[Verdict.NOT_RUN] > 0


def test_an_unfinished_or_broken_experiment_is_said_to_be_so(settings: Settings, tmp_path: Path) -> None:
    broken = types.ModuleType("broken")
    broken.__dict__.update(vars(toy))
    broken.NAME = "broken"
    broken.tables = lambda results: 1 / 0
    report = write_report([Experiment(toy), Experiment(broken)], settings, tmp_path)
    assert report.sections[1].problem == "ZeroDivisionError: division by zero"
    assert "could not be reported" in (tmp_path / "report.html").read_text()
    assert "could not be reported" in (tmp_path / "README.md").read_text()
    empty = build_report([Experiment(toy)], Settings("quick", seed=7, root=settings.root))
    assert "unfinished: toy" in empty.first_page[0].text


def test_tables_and_results_are_kept_as_small_files(folder: Path) -> None:
    with (folder / "tables" / "toy--toy-squares.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[3] == {
        "number": "3",
        "paper": "9",
        "here": "9",
        "95 % interval": "",
        "spread over seeds": "",
        "p": "",
        "verdict": "exact",
        "note": "",
        "profile": "quick",
    }
    frame = pl.read_parquet(folder / "results" / "toy.parquet")
    assert frame.height == 12
    assert {"number", "square", "noise"} <= set(frame.columns)
    assert len((folder / "results" / "units.csv").read_text().splitlines()) == 13
    environment = json.loads((folder / "results" / "environment.json").read_text())
    assert environment["profile"] == "quick"
    assert "numpy" in environment["versions"]
    assert (folder / "figures" / "toy-squares.svg").read_bytes().startswith(b"<?xml")


def test_the_report_is_the_same_file_each_time(settings: Settings, folder: Path, tmp_path: Path) -> None:
    write_report([Experiment(toy)], settings, tmp_path)
    assert (tmp_path / "report.html").read_text() == (folder / "report.html").read_text()


def test_a_figure_is_vector_and_undated() -> None:
    figure, (axes,) = new_figure()
    axes.plot([0, 1], [0, 1])
    drawing = svg_bytes(figure)
    assert b"<svg" in drawing
    assert b"dc:date" not in drawing
    assert drawing == svg_bytes(figure)


def test_experiments_are_found_by_name_or_module_path() -> None:
    assert load_experiments([TOY])[0].name == "toy"
    with pytest.raises(SynafaError, match="no experiment 'benchmrk'"):
        load_experiments(["benchmrk"])
    with pytest.raises(SynafaError, match=r"no experiment module 'tests.toy_exprmnt'"):
        load_experiments(["tests.toy_exprmnt"])
    with pytest.raises(SynafaError, match="lacks NAME"):
        load_experiments(["synafa.files"])


def test_the_whole_registry_loads() -> None:
    experiments = load_experiments(["all"])
    assert len({experiment.name for experiment in experiments}) == len(experiments)
    for profile in ("quick", "standard"):
        for experiment in experiments:
            units = experiment.units(Settings(profile))
            assert len({unit.key for unit in units}) == len(units), f"{experiment.name} lists a unit twice"
            assert all(unit.profile == profile for unit in units)


def test_run_status_and_report_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--quick", "--results", str(tmp_path / "results")]
    assert synafa(["study", "run", TOY, *where, "--dry-run"]) == 0
    assert "12 of 12 units would run" in capsys.readouterr().out
    assert synafa(["study", "run", TOY, *where, "--workers", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ran"] == 12
    assert synafa(["study", "run", TOY, *where, "--workers", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["already"] == 12
    assert synafa(["study", "status", TOY, *where, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["profile"] == "quick"
    assert status["experiments"][0]["done"] == 12
    assert status["experiments"][0]["pending"] == 0
    assert synafa(["study", "status", TOY, *where]) == 0
    assert "toy" in capsys.readouterr().out
    assert synafa(["study", "report", TOY, *where, "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_the_estimate_follows_the_speed_of_the_core(
    speed: float, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synafa.study.engine.speed.probe_seconds", lambda: REFERENCE / speed)
    command = ["study", "run", TOY, "--quick", "--results", str(tmp_path), "--dry-run"]
    assert synafa(command) == 0
    assert f"this core is {speed:.2f} times as fast" in capsys.readouterr().out
    assert synafa([*command, "--json"]) == 0
    expected = [unit["expected_seconds"] for unit in json.loads(capsys.readouterr().out)]
    costs = sum(unit.cost for unit in with_needs(Experiment(toy).units(Settings("quick"))))
    assert sum(expected) == pytest.approx(costs / speed, abs=0.01 * len(expected))


def test_the_yardstick_of_a_core_takes_processor_time() -> None:
    assert 0 < probe_seconds() < 10


def test_bad_words_are_answered_with_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synafa(["study", "run", "benchmrk", "--results", str(tmp_path)]) == 2
    assert "no experiment 'benchmrk'" in capsys.readouterr().err
    assert synafa(["study", "run", TOY, "--profile", "fast"]) == 2
    assert "'fast'" in capsys.readouterr().err
    assert synafa(["study", "run", TOY, "--quick", "--results", str(tmp_path), "--workers", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err


def test_the_report_says_what_units_took_beside_what_was_expected(folder: Path, settings: Settings) -> None:
    results = Experiment(toy).results(settings).finished
    table = times_table(results)
    taken = sum(result.record["processor_seconds"] for result in results)
    assert all(0.01 < result.record["core_speed"] < 100 for result in results)
    expected = sum(result.unit.cost / result.record["core_speed"] for result in results)
    assert table.rows[-1][:5] == ("all", "", "12", f"{expected:,.0f}", f"{taken:,.0f}")
    assert sum(int(row[2]) for row in table.rows[:-1]) == 12
    for page in ("report.html", "README.md"):
        assert table.title in (folder / page).read_text()
    with (folder / "results" / "units.csv").open() as file:
        listed = list(csv.DictReader(file))
    assert sum(float(row["processor_seconds"]) for row in listed) == pytest.approx(taken, abs=0.01)
    told = sum(round(result.unit.cost / result.record["core_speed"], 1) for result in results)
    assert sum(float(row["expected_seconds"]) for row in listed) == pytest.approx(told)
