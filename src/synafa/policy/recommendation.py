"""What to measure next as a record of fields, and the one place where such a record becomes sentences.

Whoever shows a recommendation reads the fields, or prints `text` or `reason` whole; nothing takes a sentence apart.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from synafa.wording import worded

NOTHING_PAYS, UNAFFORDABLE, NOTHING_LEFT = STOP_REASONS = ("nothing pays", "unaffordable", "nothing left")


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What every policy says of the next measurement; the fields are described where a policy's own are."""

    feature: str | None
    remaining: float
    why: str | None = None
    stop_reason: str | None = None
    cost: float = 0.0
    score: float = 0.0
    information: float = 0.0
    target: str = "the class"

    @property
    def branch(self) -> str:
        """`why`, or "stop"."""
        return self.why or "stop"

    @property
    def reason(self) -> str:
        """Why, as a sentence without its beginning; it starts with a small letter that belongs to no name."""
        raise NotImplementedError

    @property
    def free_because(self) -> str:
        """Why asking for `feature` costs nothing, in a few words; "" where it has a price."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The recommendation as a sentence."""
        if self.feature is None:
            return f"Stop: {self.reason}"
        if self.free_because:
            return f"Tell {self.feature} ({self.free_because}): {self.reason}"
        return f"Measure {self.feature} (cost {self.cost:g}): {self.reason}"


@worded
@dataclass(frozen=True, kw_only=True)
class Recommendation(Proposal):
    """What to measure next and why, or why to stop.

    Attributes
    ----------
    {proposal}
    why : str or None
        What speaks for it: "single" (its information alone), "conditional" (its information given one known value),
        "pair" (its information together with another unknown feature), "tell" (it came with another one in a panel and
        is at hand already); None at a stop.
    stop_reason : str or None
        "nothing pays" (nothing that is left promises more than it costs), "unaffordable" (something would, but the
        budget does not pay for it), "nothing left" (everything is known or cannot be had); None without a stop.
    score : float
        Bits minus cost_weight * cost; for a pair, of both members.
    information : float
        Bits that the proposal promises about the target; for a pair, of both members.
    partner : str or None
        The other member of the pair, for "pair".
    comes_with : str or None
        The known member of the panel that it came with, for "tell".
    given, condition : str or None
        The known feature that makes this one informative, and what is known of it in words, for "conditional".
    alone, partner_alone : float or None
        Bits that `feature` and `partner` tell by themselves.
    known_at_start : bool
        Whether `feature` is known from the start, so that it is asked for without charge.
    wanted : tuple of str
        At an unaffordable stop: the feature, or both members of the pair, that would come next if money allowed.
    wanted_cost, wanted_information : float
        The price of `wanted` and the bits that it promises.
    remaining : float
        Budget before this measurement; below 0 when more was spent than there was.
    note : str
        What else a reader must know: what a model of a very wide table keeps; mostly empty.
    """

    partner: str | None = None
    given: str | None = None
    condition: str | None = None
    alone: float | None = None
    partner_alone: float | None = None
    known_at_start: bool = False
    wanted: tuple[str, ...] = ()
    wanted_cost: float = 0.0
    wanted_information: float = 0.0
    comes_with: str | None = None
    note: str = ""

    @property
    def reason(self) -> str:
        """Why, as a sentence without its beginning; it starts with a small letter that belongs to no name."""
        return stop_reason(self) if self.feature is None else reason(self)

    @property
    def free_because(self) -> str:
        """Why asking for `feature` costs nothing, in a few words; "" where it has a price."""
        if self.comes_with is not None:
            return "no charge"
        return "known from the start" if self.known_at_start else ""

    def telling(self, feature: str, comes_with: str) -> Recommendation:
        """In place of this: tell a feature that came with a known one in one panel, at no charge."""
        return Recommendation(
            feature=feature, comes_with=comes_with, remaining=self.remaining, why="tell", target=self.target
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields, `branch`, `reason` and `text` as JSON values."""
        fields = asdict(self) | {"wanted": list(self.wanted)}
        return fields | {"branch": self.branch, "reason": self.reason, "text": self.text}


def reason(found: Recommendation) -> str:
    """Why a feature is recommended."""
    if found.comes_with is not None:
        return f"it came with {found.comes_with}, in one panel."
    tells = f"it tells {bits(found.information)} bits about {found.target}"
    if found.partner is not None:
        apart = f"alone {bits(found.alone)} and {bits(found.partner_alone)}"
        return f"together with {found.partner} {tells} ({apart})."
    if found.condition is not None:
        return f"given {found.condition}, {tells} (without that {bits(found.alone)})."
    return f"{tells} by itself."


def stop_reason(found: Recommendation) -> str:
    """Why nothing is recommended."""
    if found.stop_reason == NOTHING_LEFT:
        return "nothing is left that could be measured."
    if found.stop_reason == NOTHING_PAYS:
        return f"nothing that is left promises more about {found.target} than it costs."
    budget = f"the remaining budget of {found.remaining:g}"
    if found.remaining < 0:
        budget = f"the budget is exceeded by {-found.remaining:g} and"
    price = f"cost {found.wanted_cost:g}{' together' if len(found.wanted) > 1 else ''}"
    return (
        f"{budget} does not pay for {' and '.join(found.wanted)} ({price}), which would tell "
        f"{bits(found.wanted_information)} bits about {found.target}."
    )


def bits(value: float | None) -> str:
    """Information for a reader: three decimals, and no powers of ten for what is next to nothing."""
    return f"{value:.3f}" if value is not None and value >= 0.0005 else "under 0.001"
