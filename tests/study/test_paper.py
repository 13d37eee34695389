"""The paper's printed values, and the rule that compares ours with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from synafa.errors import SynafaError
from synafa.study.engine.settings import Settings
from synafa.study.evidence.duplicates import all_places, counted_as
from synafa.study.evidence.paper import PaperValue, find_value, paper_labels, paper_table, paper_value, parse_cell
from synafa.study.evidence.tables import ReportRow, ReportTable, counts_of, table_cells, table_header
from synafa.study.evidence.verdict import Verdict, judge, least_kind
from synafa.study.experiments.contract import load_experiments

TEX = Path(__file__).resolve().parents[3] / "shared" / "paper.tex"

CELLS = {
    "broad-endpoints": 20,
    "physionet-summary": 12,
    "feasibility-main": 6,
    "mnist-summary": 9,
    "failure-summary": 27,
    "dataset-overview": 18,
    "v1-headline": 30,
    "physionet-clean": 27,
    "synergy-dose-response": 33,
    "synergy-budget-mask-sensitivity": 20,
    "synergy-pid-decomposition": 20,
    "synergy-acquisition-rates": 45,
    "synergy-dose-response-full": 45,
    "synergy-budget-mask-sensitivity-full": 30,
    "fixed-v-calibration": 20,
    "fixed-v-full-significance": 20,
    "miniboone-full": 24,
    "ckd-actg": 36,
    "bankmarketing-full": 9,
    "miniboone-hypotheses": 16,
    "miniboone-classifier-realignment": 28,
    "amortized-k-infer": 13,
    "d784-full": 15,
    "local-search-progression": 10,
    "local-search-generalization": 60,
    "objective-alignment": 96,
    "pair-off-alpha": 41,
    "pair-off-fixedv": 17,
    "pair-off-real": 135,
    "lambda-mnist": 36,
}

SPOT = [
    ("broad-endpoints", "CKD", "AACO low", -0.050, True),
    ("broad-endpoints", "bank", "CAE high", -0.045, True),
    ("physionet-summary", 5, "mean", 0.026, None),
    ("physionet-summary", 15, "losses", 2, None),
    ("feasibility-main", 3, "masked", 0.064, None),
    ("mnist-summary", "permutation", 10, 0.001, False),
    ("mnist-summary", "CAE", 20, -0.070, True),
    ("failure-summary", ("PhysioNet", 5), "dAcc", -0.0371, True),
    ("failure-summary", ("MiniBooNE", 15), "rho", 0.006, None),
    ("dataset-overview", "mnist-loop", "n", 12000, None),
    ("dataset-overview", "miniboone", "majority", 0.717, None),
    ("v1-headline", ("ACTG175", 10), "CAE", 0.009, False),
    ("v1-headline", ("ckd", 4), "cae", 0.075, True),
    ("physionet-clean", "ol-without-mask", 5, 0.043, True),
    ("physionet-clean", "Mean", 15, -0.011, None),
    ("synergy-dose-response", 0.75, "5", -0.059, None),
    ("synergy-dose-response", 1, "8 sd", 0.016, None),
    ("synergy-dose-response", "corr", 3, -0.974, None),
    ("synergy-budget-mask-sensitivity", 0.5, "5 masked", 0.040, None),
    ("synergy-pid-decomposition", 0.25, "Syn/V", 0.601, None),
    ("synergy-acquisition-rates", (0.5, 8), "both", 50.4, None),
    ("synergy-acquisition-rates", (1, 5), "S2", 80.0, None),
    ("synergy-dose-response-full", (1.0, "aaco"), 8, 0.0917, True),
    ("synergy-dose-response-full", (0.75, "permutation"), 8, -0.0005, False),
    ("synergy-budget-mask-sensitivity-full", (0.75, "permutation"), 5, 0.1132, True),
    ("fixed-v-calibration", 0.9, "w_xor", 0.87496, None),
    ("fixed-v-full-significance", 0.78, "Permutation", 0.0081, True),
    ("fixed-v-full-significance", 1, "mean", 0.0279, None),
    ("miniboone-full", "ol-with-mask", 5, 0.003, False),
    ("ckd-actg", ("actg175", "odin-model-based"), "high", 0.065, True),
    ("ckd-actg", ("CKD", "EDDI"), "low", None, False),
    ("bankmarketing-full", "Permutation", 4, 0.047, True),
    ("miniboone-classifier-realignment", ("AACO", 5), "aligned", -0.0007, False),
    ("miniboone-classifier-realignment", "Mean", "closed percent", 47, None),
    ("amortized-k-infer", 150, "gap", 0.0128, True),
    ("d784-full", "36000 corrected", 5, 0.748, None),
    ("local-search-progression", 1000, "CAE gap closed percent", -73.2, None),
    ("local-search-generalization", ("MNIST-90", 10), "dAcc", -0.0125, True),
    ("local-search-generalization", ("PhysioNet", 5), "p", 0.0001, None),
    ("objective-alignment", ("PhysioNet", 5), "swaps", 4225, None),
    ("objective-alignment", ("MNIST-90", 5), "swaps", 17316, None),
    ("objective-alignment", ("MNIST-loop", 20), "P(dU random>0)", 0.418, None),
    ("pair-off-alpha", 1, "8 effect", 0.120, True),
    ("pair-off-fixedv", 0.644, "effect", -0.0140, True),
    ("pair-off-real", ("bank", 4), "wins deployed", 7, None),
    ("lambda-mnist", (0.01, 10), "Permutation", -0.0129, True),
    ("appendix-physionet-scan", "discovery pairs", "value", 51, None),
    ("appendix-gating-share", ("PhysioNet", "mean", 0.0003), "value", 78, None),
]


def test_every_numeric_table_is_there_with_all_its_cells() -> None:
    assert {label: len(paper_table(label)) for label in CELLS} == CELLS
    assert all(label in CELLS or label.startswith("appendix-") for label in paper_labels())


@pytest.mark.parametrize(("table", "row", "column", "value", "significant"), SPOT)
def test_printed_values(table, row, column, value, significant) -> None:
    found = paper_value(table, row, column)
    assert (found.value, found.significant) == (value, significant)


# label: header lines, columns that name the row; the tables whose body is numbers only
BODIES = {
    "broad-endpoints": (2, 2),
    "physionet-summary": (1, 1),
    "feasibility-main": (1, 1),
    "mnist-summary": (1, 1),
    "failure-summary": (1, 2),
    "dataset-overview": (1, 3),
    "v1-headline": (1, 2),
    "physionet-clean": (1, 1),
    "synergy-dose-response": (1, 1),
    "synergy-budget-mask-sensitivity": (2, 1),
    "synergy-pid-decomposition": (1, 1),
    "synergy-acquisition-rates": (1, 2),
    "synergy-dose-response-full": (1, 2),
    "synergy-budget-mask-sensitivity-full": (1, 2),
    "fixed-v-calibration": (1, 1),
    "fixed-v-full-significance": (1, 1),
    "ckd-actg": (1, 2),
    "bankmarketing-full": (1, 1),
    "miniboone-classifier-realignment": (1, 2),
    "d784-full": (1, 1),
    "objective-alignment": (1, 2),
    "local-search-generalization": (1, 2),
    "pair-off-alpha": (2, 1),
    "pair-off-fixedv": (1, 1),
    "pair-off-real": (1, 2),
    "lambda-mnist": (1, 2),
}


@pytest.mark.skipif(not TEX.exists(), reason="the paper's source is not beside this checkout")
@pytest.mark.parametrize("label", BODIES)
def test_the_transcription_holds_every_number_of_the_printed_table(label: str) -> None:
    cells = printed_cells(label)
    ours = paper_table(label).cells.values()
    printed = [float(number) for cell in cells for number in re.findall(r"[+-]?\d+(?:\.\d+)?", cell)]
    assert sorted(value.value for value in ours if value.value is not None) == sorted(printed)
    stars = sum("*" in cell for cell in cells if "<" not in cell and "0.0002" not in cell and "$0.019" not in cell)
    assert sum(value.significant is True for value in ours) == stars


def printed_cells(label: str) -> list[str]:
    """The printed cells of a table's body, without the columns that name the row."""
    headers, keys = BODIES[label]
    text = TEX.read_text(encoding="utf-8")
    start = text.index(r"\label{tab:" + label + "}")
    body = text[text.index(r"\begin{tabular}", start) : text.index(r"\end{tabular}", start)]
    lines = [line for line in body.split(r"\\") if "&" in line][headers:]
    cells = [cell.replace("{,}", "") for line in lines for cell in line.split("&")[keys:]]
    # a "$-$" is the typeset minus, every other "$" only switches to mathematics
    return [cell.replace("$-$", "-").replace("n.s.", "") for cell in cells]


def test_an_unknown_table_or_cell_is_named() -> None:
    with pytest.raises(SynafaError, match="no table 'tab-9'"):
        paper_value("tab-9", "a", "b")
    with pytest.raises(SynafaError, match="prints nothing at row 'EDDI'"):
        paper_value("physionet-clean", "EDDI", 5)
    assert find_value("physionet-clean", "EDDI", 5) is None


def printed(text: str) -> PaperValue:
    return parse_cell(text, starred=True)


N, NOT = None, False  # no star is printed; printed without a star


@pytest.mark.parametrize(
    ("here", "paper", "interval", "significant", "verdict"),
    [
        # inside our spread, significance the same
        (0.030, "+0.034*", (0.02, 0.04), True, Verdict.WITHIN),
        (0.020, "+0.034*", (0.01, 0.0336), True, Verdict.WITHIN),  # 0.0336 prints as 0.034
        (-0.001, "+0.002", (-0.01, 0.01), NOT, Verdict.WITHIN),
        # inside, but significance flips
        (0.030, "+0.034", (0.02, 0.04), True, Verdict.DIFFERS),
        (0.010, "+0.012*", (-0.01, 0.03), NOT, Verdict.DIFFERS),
        (-0.002, "+0.012*", (-0.02, 0.02), NOT, Verdict.OPPOSITE),
        # outside
        (0.060, "+0.034*", (0.05, 0.07), True, Verdict.SAME),
        (0.060, "+0.034", (0.05, 0.07), True, Verdict.DIFFERS),
        (0.003, "+0.034", (-0.01, 0.012), NOT, Verdict.NEITHER),
        (-0.060, "+0.034*", (-0.07, -0.05), True, Verdict.OPPOSITE),
        (-0.005, "+0.009", (-0.007, 0.001), NOT, Verdict.OPPOSITE),  # neither is significant, the signs differ
        (-0.060, "+0.000", (-0.07, -0.05), NOT, Verdict.NEITHER),  # the paper's zero has no sign
        (0.001, "+0.034*", (-0.01, 0.012), NOT, Verdict.DIFFERS),
        # words
        (0.004, "tie", (-0.01, 0.02), NOT, Verdict.NEITHER),
        (0.040, "tie", (0.02, 0.06), True, Verdict.DIFFERS),
        (0.040, "tie", (0.02, 0.06), N, Verdict.NOT_COMPARABLE),
        # nothing to judge with
        (None, "+0.034*", None, N, Verdict.NOT_RUN),
        (float("nan"), "+0.034*", None, N, Verdict.NOT_RUN),
        (6, "6", None, N, Verdict.NO_YARDSTICK),  # a trained count that is equal by chance is not exact
        (7, "6", (5.0, 8.0), N, Verdict.WITHIN),
        (9, "6", (8.0, 10.0), N, Verdict.DIFFERS),
        (0.5, "<0.0001", (0.3, 0.7), N, Verdict.DIFFERS),
        (0.0, "<0.0001", (0.0, 0.1), N, Verdict.WITHIN),
    ],
)
def test_the_verdict_on_a_trained_number(here, paper, interval, significant, verdict) -> None:
    low, high = interval or (None, None)
    assert judge(here, printed(paper), low, high, significant) is verdict
    if interval is not None:  # the spread over seeds, where there is one, is the yardstick, whatever the interval
        assert judge(here, printed(paper), -9.0, 9.0, significant, spread=interval) is verdict


@pytest.mark.parametrize(
    ("here", "paper", "verdict"),
    [
        (0.0283, "0.028", Verdict.EXACT),
        (0.0286, "0.028", Verdict.DIFFERS),
        (4225, "4225", Verdict.EXACT),
        (4226, "4225", Verdict.DIFFERS),
        (-0.1, "+0.1", Verdict.OPPOSITE),
    ],
)
def test_a_number_without_training_is_exact_or_it_is_not(here, paper, verdict) -> None:
    assert judge(here, printed(paper), deterministic=True) is verdict
    assert judge(here, printed(paper), -9.0, 9.0, deterministic=True) is verdict


def test_a_number_that_means_something_else_is_not_compared() -> None:
    assert judge(1.0, printed("1.0"), comparable=False) is Verdict.NOT_COMPARABLE
    assert {v for v in Verdict if v.agrees is None} == {
        Verdict.NOT_COMPARABLE,
        Verdict.NO_YARDSTICK,
        Verdict.NOT_RUN,
    }
    assert {v for v in Verdict if v.agrees is False} == {Verdict.DIFFERS, Verdict.OPPOSITE}


def test_of_several_showings_the_least_kind_counts() -> None:
    assert least_kind([Verdict.WITHIN, Verdict.DIFFERS, Verdict.NOT_RUN]) is Verdict.DIFFERS
    assert least_kind([Verdict.NOT_RUN, Verdict.NOT_COMPARABLE]) is Verdict.NOT_COMPARABLE
    assert least_kind([Verdict.NO_YARDSTICK, Verdict.SAME]) is Verdict.SAME


def test_places_that_share_a_number_print_the_same_number() -> None:
    pairs = [(place, counted_as(place)) for place in all_places() if counted_as(place) != place]
    assert len(pairs) > 150
    for place, finer in pairs:
        first, second = (paper_table(label).cells[row, column] for label, row, column in (place, finer))
        if first.value is None or second.value is None:
            assert "tie" in (first.text, second.text)
            assert first.significant == second.significant
            continue
        coarse = 10.0 ** -min(first.decimals, second.decimals)
        gap = abs(abs(first.value) - abs(second.value))
        assert gap <= 0.55 * coarse + 1e-9, (place, finer, first.text, second.text)
    known = set(all_places())
    assert {finer for _, finer in pairs} <= known


def test_each_of_the_papers_numbers_is_counted_once() -> None:
    once = paper_value("broad-endpoints", "CKD", "AACO low")
    again = paper_value("v1-headline", ("CKD", 2), "AACO")
    other = paper_value("v1-headline", ("CKD", 4), "AACO")
    rows = [ReportRow.tested(("x",), -0.05, -0.07, -0.02, 0.001, value) for value in (once, again, once)]
    assert counts_of(rows) == {Verdict.WITHIN: 1}
    rows.append(ReportRow.tested(("y",), -0.03, -0.04, -0.02, 0.001, again))
    rows.append(ReportRow.tested(("z",), 0.0, -0.01, 0.01, 1.0, other))
    assert counts_of(rows) == {Verdict.SAME: 1, Verdict.WITHIN: 1}


def test_stars_are_adjusted_within_a_table() -> None:
    def row(p: float) -> ReportRow:
        return ReportRow.tested((f"{p}",), 0.1, 0.0, 0.2, p, None)

    alone = ReportTable("t", "t", ("p",), [row(0.04)])
    among = ReportTable("t", "t", ("p",), [row(0.04), *(row(0.5) for _ in range(5))])
    assert alone.rows[0].starred is True
    assert among.rows[0].starred is False
    assert among.rows[0].significant is True  # what the verdict compares with the paper's unadjusted star
    assert table_cells(among)[0][2] == "+0.100"
    cells = dict(zip(table_header(alone), table_cells(ReportTable("t", "t", ("p value",), [row(0.0)]))[0]))
    assert cells["p"] == "< 0.0002"


def test_every_transcribed_number_of_the_paper_is_shown_somewhere(tmp_path: Path) -> None:
    settings = Settings("standard", datasets=("ckd", "actg175", "bank", "physionet", "mnist-loop"), root=tmp_path)
    shown: set[tuple[str, str, str]] = set()
    for experiment in load_experiments():
        for table in experiment.tables(experiment.results(settings)):
            if isinstance(table, ReportTable):
                values = [value for row in table.rows for value in (row.paper, *row.beside) if value is not None]
                shown |= {value.place for value in values if value.place is not None}
    assert [place for place in all_places() if place not in shown] == []
