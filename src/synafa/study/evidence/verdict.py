"""Does a number of ours agree with the paper's? One rule, applied to every cell of the report.

What no training and no draw enters is *exact* or it *differs*. A trained number of the paper is one more draw on the
same test rows, so its yardstick is our spread over seeds: *within our spread* if one more training of ours could have
given it and significance does not flip. Else, where both are tested: *same sign, both significant*; *neither
significant*; *opposite sign*; and otherwise *differs*. Equal by chance is not exact.
"""

from __future__ import annotations

from enum import StrEnum
from math import isfinite

from synafa.study.evidence.paper import PaperValue


class Verdict(StrEnum):
    """The answers, best first, then those that judge nothing; the value is the wording in the report."""

    EXACT = "exact"
    WITHIN = "within our spread"
    SAME = "same sign, both significant"
    NEITHER = "neither significant"
    DIFFERS = "differs"
    OPPOSITE = "opposite sign"
    NO_YARDSTICK = "no yardstick"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"

    @property
    def agrees(self) -> bool | None:
        """True or False for a verdict about a number, None where there was nothing to judge."""
        if self in (Verdict.NOT_RUN, Verdict.NOT_COMPARABLE, Verdict.NO_YARDSTICK):
            return None
        return self not in (Verdict.DIFFERS, Verdict.OPPOSITE)


RULE = (
    "exact: equal at the printed precision, only for numbers without training or drawing; "
    "within our spread: the paper's value lies where one more training of ours would lie (95 % prediction interval "
    "over seeds; our 95 % interval where nothing was repeated), give or take its rounding, and significance does not "
    "flip; same sign, both significant; neither significant (and the signs not opposite); opposite sign: outside our "
    "spread on the other side of zero; differs: none of these; no yardstick: a trained number without a spread. "
    "Significance is p < 0.05 on both sides; our stars are adjusted within a table (Benjamini-Hochberg) besides. "
    "Each of the paper's numbers is counted once, however often it is printed."
)

_ORDER = {verdict: place for place, verdict in enumerate(Verdict)}


def least_kind(verdicts: list[Verdict]) -> Verdict:
    """The verdict on a number that is shown several times: the least kind among those that judge it."""
    judged = [verdict for verdict in verdicts if verdict.agrees is not None]
    return max(judged, key=_ORDER.__getitem__) if judged else min(verdicts, key=_ORDER.__getitem__)


def judge(
    here: float | None,
    paper: PaperValue,
    low: float | None = None,
    high: float | None = None,
    significant: bool | None = None,
    deterministic: bool = False,
    comparable: bool = True,
    spread: tuple[float, float] | None = None,
) -> Verdict:
    """The verdict on our value `here` with interval `[low, high]` and spread over seeds against the paper's."""
    if not comparable:
        return Verdict.NOT_COMPARABLE
    if here is None or not isfinite(here):
        return Verdict.NOT_RUN
    tested = significant is not None and paper.significant is not None
    if paper.value is None:  # the paper prints "tie": not significant, no number
        if not tested:
            return Verdict.NOT_COMPARABLE
        return Verdict.NEITHER if significant == paper.significant else Verdict.DIFFERS
    rounding = 0.5 * 10.0**-paper.decimals + 1e-9
    opposite = here * paper.value < 0 and _signed(paper)
    if deterministic:
        if abs(here - paper.value) <= rounding:
            return Verdict.EXACT
        return Verdict.OPPOSITE if opposite else Verdict.DIFFERS
    flips = tested and significant != paper.significant
    bounds = spread if spread is not None else (low, high)
    if bounds[0] is not None and bounds[1] is not None and not flips:
        if paper.text.startswith("<"):  # a p-value printed as a bound
            return Verdict.WITHIN if bounds[0] < paper.value else Verdict.DIFFERS
        if bounds[0] - rounding <= paper.value <= bounds[1] + rounding:
            return Verdict.WITHIN
    if opposite:
        return Verdict.OPPOSITE
    if tested and not flips:
        return Verdict.SAME if significant else Verdict.NEITHER
    return Verdict.NO_YARDSTICK if bounds[0] is None and not tested else Verdict.DIFFERS


def _signed(paper: PaperValue) -> bool:
    """Whether the paper prints a number with a sign: a difference or a correlation, not a count."""
    return paper.text.startswith(("+", "-"))
