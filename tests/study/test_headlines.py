"""A headline says "held" only when the claim holds on every reading it shows: constructed results, both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synafa.study.engine.execute import Outcome
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.store import Store
from synafa.study.evidence.overview import overview_figure
from synafa.study.experiments import alignment, gating, local_search, mnist_loop
from synafa.study.experiments.benchmark_measures import positive_share_figure
from synafa.study.experiments.shared import EIGHT, policy_units
from synafa.study.experiments.swaps import FIGURES
from tests.study.test_units_and_sweeps import finished

ROWS = 400


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings("standard", datasets=("ckd", "physionet", "mnist-loop"), root=tmp_path)


def searched(settings: Settings, gain: dict[str, int], rho: dict[str, float]) -> Results:
    """Local-search results in which a setting gains (or loses) so many of 400 rows, with a given correlation."""
    store = Store(settings.results)
    for unit in local_search.units(settings):
        if unit.experiment != local_search.NAME:
            continue
        name, budget = unit["setting"], unit["budget"]
        before, after = np.zeros(ROWS, dtype=np.uint8), np.zeros(ROWS, dtype=np.uint8)
        change = gain.get(name, 0)
        before[: max(-change, 0)], after[: max(change, 0)] = 1, 1
        arrays = {"before": before, "after_corrected": after, "after_uncorrected": after}
        arrays |= {f"aligned_{figure}": np.zeros((2, ROWS)) for figure in FIGURES}
        arrays["aligned_rho"] = rho.get(name, 0.0) + np.tile(np.linspace(-0.01, 0.01, ROWS), (2, 1))
        row = {"search": "corrected", "n": ROWS, "accepted": 10, "swaps": 10, "budget": budget}
        store.save(unit, Outcome("done", [row], arrays))
    return Results.read(local_search.units(settings), settings)


@pytest.mark.parametrize(
    ("gain", "held"),
    [
        ({"physionet": -40}, True),  # the claim: no gain, and it harms
        ({}, False),  # nothing changes: no harm either
        ({"physionet": -40, "mnist-amortised": 40}, False),  # a gain on the other reading of the forests
        ({"physionet": -40, "mnist-exact": 40}, False),
        ({"physionet": -40, "mnist-informative": 40}, False),
    ],
)
def test_local_search_held_needs_every_reading(settings: Settings, gain: dict[str, int], held: bool) -> None:
    line = local_search.headline(searched(settings, gain, {}))[0]
    assert line.held is held
    assert "all pairs" in line.text


@pytest.mark.parametrize(
    ("rho", "held"),
    [({"physionet": 0.10}, True), ({"physionet": -0.2}, False), ({"mnist-amortised": 0.21}, False)],
)
def test_alignment_held_needs_every_setting(settings: Settings, rho: dict[str, float], held: bool) -> None:
    line = alignment.headline(searched(settings, {}, rho))[0]
    assert line.held is held
    assert f"{max(rho.values(), key=abs):+.3f}" in line.text


def gated(settings: Settings, moved: int, shares: dict[float, float]) -> Results:
    """Gating results of PhysioNet with these shares of the pair branch; `moved` rows change where it is silent."""
    store = Store(settings.results)
    units = [unit for unit in gating.units(settings) if unit["dataset"] == "physionet"]
    rows: list[dict[str, Any]] = []
    arrays = {}
    for weight in gating.LAMBDAS:
        for preset in ("V", *gating.PRESETS):
            for budget in (5, 10, 15):
                printed = {5: 0.45, 10: 0.24, 15: 0.20}[budget] if weight == 0.01 else shares.get(weight, 0.0)
                row = {"lambda": weight, "preset": preset, "budget": budget, "accuracy": 0.7, "pair_share": printed}
                changed = moved if preset != "V" and printed == 0 else 0
                rows.append(row | {"pair_steps": round(1000 * printed), "own_decisions": 1000, "rows_changed": changed})
                arrays[f"{weight:g}/{preset}/correct_{budget}"] = np.ones(50, dtype=np.uint8)
    for unit in units:
        store.save(unit, Outcome("done", rows, arrays))
    return Results.read(units, settings)


@pytest.mark.parametrize(
    ("moved", "shares", "held"),
    [
        (0, {0.0003: 0.78}, True),
        (3, {0.0003: 0.78}, False),  # silent, but the reweighted branch is not
        (0, {0.0003: 0.60}, False),  # a printed share that does not come out
        (0, {0.0003: 0.78, 0.03: 0.01}, False),  # not silent
    ],
)
def test_gating_held_needs_the_gate_its_shares_and_no_effect(
    settings: Settings, moved: int, shares: dict[float, float], held: bool
) -> None:
    assert gating.headline(gated(settings, moved, shares))[0].held is held


def test_the_overview_is_drawn_and_the_erosion_shows_the_papers_lines_beside_ours(settings: Settings) -> None:
    assert overview_figure().name == "synafa-overview"
    drawn = mnist_loop._erosion(Results.read([], settings)).figure
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in drawn.axes]
    assert [title[:1] for title in titles] == ["a", "b", "c"]
    here, printed, images = drawn.axes
    assert len(here.lines) == 1  # nothing run: only the line at zero
    assert len(printed.lines) >= 10  # eight baselines, their mean, zero
    assert here.get_ylim() == printed.get_ylim()
    assert {"v2, corrected, paper", "v2, k = 150, paper"} <= {line.get_label() for line in images.lines}
    gaps = mnist_loop._printed_gaps()[1]
    assert gaps[0] == pytest.approx(-0.077, abs=0.001)  # as the paper's text says


def test_the_figure_shows_that_accuracy_is_the_predicted_positive_share_where_it_is(settings: Settings) -> None:
    """Accuracy is made to fall with the share and AUROC to have nothing to do with it: the panels say both."""
    done = []
    for at, method in enumerate(("synafa", *EIGHT)):
        for unit in policy_units(settings, "physionet", 0, method, (5,), 1):
            share = 0.1 + 0.02 * at
            row = {"budget": 5, "positive_share": share, "accuracy": 0.9 - share, "auroc": 0.8 + 0.01 * (-1) ** at}
            done.append(finished(unit, [row]))
    results = Results(settings, [one.unit for one in done], done)
    drawn = positive_share_figure(results, [("physionet", 5)], {"physionet": "PhysioNet"})
    assert drawn is not None
    titles = [axes.get_title() or axes.get_title(loc="left") for axes in drawn.figure.axes]
    assert titles[0].endswith("r = -1.00")
    assert abs(float(titles[1].rsplit("= ", 1)[1])) < 0.2
    assert sum(len(points.get_offsets()) for points in drawn.figure.axes[0].collections) == 9
    assert positive_share_figure(Results(settings, [], []), [("physionet", 5)], {"physionet": "PhysioNet"}) is None
