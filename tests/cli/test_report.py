"""`synafa report` at the command line: one page, one JSON document, one sentence for what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from synafa.cli.app import run


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"gcs": rng.normal(size=150), "urea": rng.normal(size=150)}).with_columns(
        pl.Series("sex", np.where(rng.random(150) < 0.5, "f", "m")), pl.Series("who", np.arange(150) // 2)
    )
    died = np.where(frame["gcs"].to_numpy() + 0.5 * rng.normal(size=150) > 0, "yes", "no")
    frame.with_columns(pl.Series("died", died)).write_csv(tmp_path / "patients.csv")
    (tmp_path / "prices.csv").write_text("feature,price\ngcs,10\nurea,20\nsex,0\n", encoding="utf-8")
    return tmp_path / "patients.csv"


@pytest.mark.slow
def test_the_report_is_a_page_and_a_json_document(patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = patients.with_name("report.html")
    words = ["report", str(patients), "--target", "died", "--group", "who", "--by", "sex", "--known", "sex"]
    words += ["--prices", str(patients.with_name("prices.csv")), "--errors", "yes:no=200", "--errors", "no:yes=100"]
    assert run([*words, "--budgets", "10,none", "-o", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["budgets"] == [10.0, None]
    assert found["data"]["groups"] == 75
    assert found["data"]["error_costs"] == {"no": {"yes": 100.0}, "yes": {"no": 200.0}}
    assert {each["name"]: each["price"] for each in found["data"]["features"]} == {"gcs": 10, "urea": 20, "sex": 0}
    curve = {(c["method"], c["budget"]): c for c in found["curves"]}
    assert curve["model", 10.0]["paid"]["mean"] <= 10
    assert curve["model", 10.0]["cost"]["mean"] < curve["nothing", 10.0]["cost"]["mean"]
    html = page.read_text(encoding="utf-8")
    assert found["adaptivity"]["sentence"] in html
    assert "By sex" in html


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--budgets", "two"], "--budgets must be numbers"),
        (["--by", "age"], "no column 'age'"),
        (["--known", "gsc"], "Unknown feature 'gsc'"),
        (["--errors", "yes:no"], "error cost"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    patients: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(patients), "--target", "died", "-o", str(patients.with_name("r.html")), *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert not patients.with_name("r.html").exists()
