"""The page in a real browser: a whole case by keyboard and mouse, on a wide screen and on a phone, for everybody."""

from __future__ import annotations

import base64
import json
import re
import select
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from synafa import AcquisitionClassifier, PlanTree, PriceList
from synafa.model.storage import load_bedside
from tests.web.browser import ALT, ENTER, Browser

pytestmark = pytest.mark.slow

CHECK = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A panel that tells the disease, a cheap hint, a text, and a name that could be markup."""
    rng = np.random.default_rng(0)
    n = 400
    ill = rng.random(n) < 0.4
    table = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "hint": np.round(ill + rng.normal(0, 1.5, n), 2),
            "lactate": np.round(2 * ill + rng.normal(0, 0.7, n), 2),
            "ph": np.round(7.4 - 0.1 * ill + rng.normal(0, 0.06, n), 3),
            "a <b>very</b> long name of a measurement_that_nobody_would_break_by_hand": rng.normal(size=n).round(2),
        }
    )
    prices = PriceList.from_columns(table.columns, [0, 20, 100, 100, 35], panel=["", "", "gas", "gas", ""])
    model = AcquisitionClassifier(
        PlanTree(budget=140, prices=prices), error_costs=["ill:well=4000", "well:ill=600"]
    ).fit(table, np.where(ill, "ill", "well"), known=["sex"], target="the outcome")
    path = tmp_path_factory.mktemp("page") / "bedside.synafa"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def served(path):
    """The address of `synafa serve`, and its log."""
    log = path.with_name("audit.jsonl")
    words = [sys.executable, "-u", "-c", "from synafa.cli import main; main()", "serve", str(path), "--port", "0"]
    server = subprocess.Popen([*words, "--log", str(log)], stdout=subprocess.PIPE, text=True)
    try:
        assert select.select([server.stdout], [], [], 60)[0], "the server said nothing for a minute"
        yield re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())[0], log
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser, served):
    """The page with a case that has just begun."""
    browser.open(served[0])
    heading(browser, "Tell", "Measure", "Stop")
    browser.run("sessionStorage.clear()")
    browser.resize(1200, 1000)
    browser.media()
    browser.reload()
    heading(browser, "Tell sex")
    return browser


def heading(browser, *starts):
    """Wait until the recommendation begins with one of these words; the whole of it."""
    condition = "arguments[0].some(s => document.getElementById('what').textContent.startsWith(s))"
    browser.wait(condition, list(starts))
    return browser.text("#what")


def enter(browser, value):
    browser.run("document.getElementById('answer').focus()")
    if browser.run("return document.getElementById('answer').tagName") == "SELECT":
        script = "const a = document.getElementById('answer'); a.value = arguments[0]; a.form.requestSubmit()"
        browser.run(script, value)
    else:
        browser.keys("#answer", value + ENTER)


def test_a_whole_case(page, path, served):
    model = load_bedside(path)
    assert page.run("return document.getElementById('what').tagName") == "H2"
    enter(page, "f")
    asked = heading(page, "Measure ").removeprefix("Measure ")
    answer = model.next_feature({"sex": "f"}, remaining=140.0)
    assert asked == answer.recommendation.feature
    assert asked in ("lactate", "ph")
    assert page.text("#now") == answer.now
    shown = page.run("return [...document.querySelectorAll('#classes li')].map(item => item.textContent)")
    assert len(shown) == 2
    assert all("%" in line for line in shown)
    outcomes = page.run("return [...document.querySelectorAll('#outcomes li')].map(item => item.textContent)")
    assert [line.lower() for line in outcomes] == [f"{one.text}.".lower() for one in answer.outcomes]
    assert page.text("#others").startswith(f"Why not {answer.others[0].feature}")
    assert page.run("return document.activeElement.id") == "answer", "the next result can be typed at once"

    page.keys("#answer", "much" + ENTER)
    page.wait("!document.getElementById('problem').hidden")
    assert "'much' is not a number" in page.text("#problem")
    page.run("document.getElementById('answer').value = ''")
    enter(page, "3.2" if asked == "lactate" else "7.1")
    other = heading(page, "Tell ").removeprefix("Tell ")
    assert {asked, other} == {"lactate", "ph"}
    assert page.text("#left") == "40 left", "the panel was paid once"
    page.click("#failed")
    end = heading(page, "Measure hint", "Stop", "Measure a")
    assert page.text("#left") == "40 left"
    steps = page.run("return [...document.querySelectorAll('#steps b')].map(item => item.textContent)")
    assert steps[0] == "sex = f"
    assert steps[2] == f"{other}: could not be measured"

    page.press(ALT, "z")
    heading(page, f"Tell {other}")
    page.click("#failed")
    assert heading(page, "Measure", "Stop") == end
    page.reload()
    heading(page, end)
    again = page.run("return [...document.querySelectorAll('#steps b')].map(item => item.textContent)")
    assert again == steps, "a reload keeps the case"

    lines = [json.loads(line) for line in served[1].read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["observed"]["sex"] == "f"
    assert lines[-1]["observed"][other] is None
    assert set(lines[-1]["probabilities"]) == {"ill", "well"}
    assert "much" not in served[1].read_text(encoding="utf-8"), "what was refused is not logged"

    page.click("#restart")
    heading(page, "Tell sex")
    assert page.run("return document.querySelectorAll('#steps li').length") == 0


def test_results_come_in_any_order_and_an_old_one_can_be_changed(page):
    script = """
        const label = [...document.querySelectorAll('#rows label')].find(l => l.textContent === arguments[0]);
        const input = document.getElementById(label.htmlFor);
        input.focus(); input.value = arguments[1]; input.dispatchEvent(new Event('change'));
    """
    page.run(script, "hint", "0.5")
    page.wait("document.querySelectorAll('#steps li').length === 1")
    page.run(script, "sex", "m")
    page.wait("document.querySelectorAll('#steps li').length === 2")
    heading(page, "Measure")
    assert page.text("#left") == "120 left"
    before = page.text("#now")
    page.run(script, "hint", "4")
    page.wait("document.querySelector('#steps b').textContent === 'hint = 4'")
    assert page.text("#now") != before
    page.run("document.querySelector(\"[aria-label='hint was paid for']\").click()")
    page.wait("document.getElementById('left').textContent === '140 left'")
    page.run("document.querySelector(\"[aria-label='Remove hint']\").click()")
    page.wait("document.querySelectorAll('#steps li').length === 1")
    page.run(script, "hint", "4000")
    page.wait("!document.getElementById('questioned').hidden")
    assert page.text("#questioned").startswith("Is hint = 4000 right?")


def test_enough_is_not_said_when_the_money_ran_out(page):
    enter(page, "m")
    heading(page, "Measure")
    page.run("const b = document.getElementById('budget'); b.value = '5'; b.dispatchEvent(new Event('change'))")
    assert heading(page, "Stop") == "Stop: out of budget"
    assert "nough" not in page.text("#next")
    assert page.text("#left") == "5 left"


def test_the_whole_case_goes_by_keyboard_alone(page):
    page.press("f", ENTER)  # the list of sexes has the focus
    page.run("document.getElementById('answer').form.requestSubmit()")
    heading(page, "Measure")
    page.press(ALT, "n")
    page.wait("document.querySelectorAll('#steps li').length === 2")
    assert "cannot be had" in page.text("#steps")
    page.press(ALT, "z")
    page.wait("document.querySelectorAll('#steps li').length === 1")
    page.press(*"3.3", ENTER)
    page.wait("document.querySelectorAll('#steps li').length === 2")
    page.run("document.activeElement.blur()")
    page.press("/")
    assert page.run("return document.activeElement.id") == "find"


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(page, width, scheme):
    page.media(scheme=scheme)
    page.resize(width, 844)
    page.reload()
    heading(page, "Tell sex")
    assert page.run(CHECK) == []
    enter(page, "m")
    heading(page, "Measure")
    page.run("document.getElementById('else').open = true")
    assert page.run(CHECK) == []
    page.click("#failed")
    page.wait("document.querySelectorAll('#steps li').length === 2")
    page.run("const b = document.getElementById('budget'); b.value = 'x'; b.dispatchEvent(new Event('change'))")
    page.wait("!document.getElementById('problem').hidden")
    assert page.run(CHECK) == []
    assert page.run("return document.documentElement.clientWidth") == width


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        ("document.querySelector('#back').textContent = ''", "no name"),
        ("document.querySelector('#find').previousElementSibling.remove()", "no name"),
        ("document.querySelector('#print').style.cssText = 'min-height:0;height:20px'", "px: <button"),
        ("document.querySelector('#why').style.color = '#bbbbbb'", "of text"),
        ("document.querySelector('#find').style.borderColor = '#dddddd'", "of a border"),
        ("document.querySelector('#all').style.width = '500px'", "sticks out"),
        ("document.querySelector('#state').outerHTML = '<h4>x</h4>'", "h4 after h2"),
    ],
)
def test_the_check_finds_what_is_wrong(page, damage, word):
    page.resize(390, 844)
    page.reload()
    heading(page, "Tell sex")
    page.run(damage)
    assert any(word in one for one in page.run(CHECK)), page.run(CHECK)


def test_the_printout_names_model_and_date(page):
    enter(page, "f")
    heading(page, "Measure")
    assert re.fullmatch(r"Model bedside\.synafa; \d{4}-\d\d-\d\d \d\d:\d\d UTC\.", page.text("#stamp"))
    assert base64.b64decode(page.print_page()).startswith(b"%PDF")
    page.media("print")
    shown = "return arguments[0].map(id => document.getElementById(id).checkVisibility())"
    assert page.run(shown, ["stamp", "what", "now", "steps", "form", "all"]) == [True, True, True, True, False, False]
