"""The documentation builds without a warning and needs nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import synafa

pytest.importorskip("sphinx", reason="the site needs the extra 'docs'")
ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "docs"

# Where a page fetches something by itself; the address of a link to be followed does not count.
FETCHES = (
    re.compile(r"<(?:script|img|iframe|embed|source|video|audio)\b[^>]*?\bsrc(?:set)?\s*=\s*[\"']([^\"']*)", re.I),
    re.compile(
        r"<link\b(?![^>]*\brel=[\"'](?:canonical|next|prev|search|index|author)[\"'])[^>]*?\bhref\s*=\s*[\"']([^\"']*)",
        re.I,
    ),
    re.compile(r"@import\s+(?:url\()?[\"']?([^\"')\s;]+)", re.I),
    re.compile(r"\burl\(\s*[\"']?([^\"')]+)", re.I),
)


def outside(text: str) -> list[str]:
    """What a page or style sheet would fetch from another host."""
    found = [address for pattern in FETCHES for address in pattern.findall(text)]
    return [address for address in found if re.match(r"\s*(?:https?:)?//", address, re.I)]


@pytest.fixture(scope="module")
def site():
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(ROOT / "docs"), str(SITE)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SITE


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://cdn.example/x.js"></script>',
        "<link rel='stylesheet' href='//fonts.example/a.css'>",
        '<img alt="" src="http://example/x.png">',
        "@import url('https://fonts.example/a.css');",
        "body { background: url(https://example/x.png) }",
    ],
)
def test_an_outside_asset_would_be_noticed(text):
    assert outside(text)


def test_a_link_to_elsewhere_is_no_asset():
    assert not outside('<a href="https://example/">x</a> <link rel="stylesheet" href="_static/a.css"> url(#gradient)')


@pytest.mark.slow
def test_no_page_fetches_anything_from_elsewhere(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 50
    for page in pages:
        assert not outside(page.read_text(encoding="utf-8")), page.relative_to(site)


@pytest.mark.slow
def test_every_public_name_has_a_page(site):
    for name in set(synafa.__all__) - {"__version__"}:
        page = site / "api" / "generated" / f"synafa.{name}.html"
        assert page.exists(), f"{name} is not in the reference"


@pytest.mark.slow
def test_the_pages_of_the_site_are_there(site):
    pages = "first-steps guide cli how-it-works study replication performance scale architecture contributing changelog"
    missing = [name for name in pages.split() if not (site / f"{name}.html").exists()]
    assert not missing
    formulas = (site / "how-it-works.html").read_text(encoding="utf-8")
    assert formulas.count("<math") > 10
    stories = [path for path in (site / "auto_examples").glob("plot_*.html")]
    assert len(stories) >= 3
    for story in stories:
        assert "sphx-glr-script-out" in story.read_text(encoding="utf-8"), f"{story.name} printed nothing"
