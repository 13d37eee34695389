"""Does a number of ours agree with the paper's? One rule, applied to every cell of the report.

In this order: *exact* - equal at the printed precision (deterministic rows; others only if they carry no interval);
*within our interval* - the paper's value lies in our 95 % interval, allowing for its rounding; *same sign and
significance* - both tested, both significant with the same sign, or both not significant; otherwise *differs*.
A missing value of ours is *not run*; a paper's number that means something else is *not comparable*.
"""

from __future__ import annotations

from enum import StrEnum
from math import isfinite

from synafa.study.evidence.paper import PaperValue


class Verdict(StrEnum):
    """The six answers, best first; the value is the wording in the report."""

    EXACT = "exact"
    WITHIN = "within our interval"
    SAME = "same sign and significance"
    DIFFERS = "differs"
    NOT_RUN = "not run"
    NOT_COMPARABLE = "not comparable"

    @property
    def agrees(self) -> bool | None:
        """True or False for a verdict about a number, None where there was nothing to judge."""
        if self in (Verdict.NOT_RUN, Verdict.NOT_COMPARABLE):
            return None
        return self is not Verdict.DIFFERS


RULE = (
    "exact: equal at the printed precision (rows without training or resampling, or without an interval); "
    "within our interval: the paper's value lies in our 95 % interval, give or take its rounding; "
    "same sign and significance: both significant with the same sign, or both not significant; "
    "differs: none of these."
)


def judge(
    here: float | None,
    paper: PaperValue,
    low: float | None = None,
    high: float | None = None,
    significant: bool | None = None,
    deterministic: bool = False,
    comparable: bool = True,
) -> Verdict:
    """The verdict on our value `here` with interval `[low, high]` against the paper's."""
    if not comparable:
        return Verdict.NOT_COMPARABLE
    if here is None or not isfinite(here):
        return Verdict.NOT_RUN
    if paper.value is None:  # the paper prints "tie": not significant, no number
        if paper.significant is None or significant is None:
            return Verdict.NOT_COMPARABLE
        return Verdict.SAME if significant == paper.significant else Verdict.DIFFERS
    if paper.text.startswith("<"):  # a p-value printed as a bound
        return Verdict.EXACT if here < paper.value else Verdict.DIFFERS
    rounding = 0.5 * 10.0**-paper.decimals + 1e-9
    has_interval = low is not None and high is not None
    if abs(here - paper.value) <= rounding and (deterministic or not has_interval):
        return Verdict.EXACT
    if deterministic:
        return Verdict.DIFFERS
    if low is not None and high is not None and low - rounding <= paper.value <= high + rounding:
        return Verdict.WITHIN
    if significant is not None and paper.significant is not None and significant == paper.significant:
        same_sign = (here > 0) == (paper.value > 0)
        if not significant or same_sign:
            return Verdict.SAME
    return Verdict.DIFFERS
