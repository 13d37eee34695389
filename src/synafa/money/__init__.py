"""What measurements and errors cost in one currency: prices with panels and groups, error costs, stop rules, floors."""

from __future__ import annotations

from synafa.money.errors import ErrorCosts
from synafa.money.floor import Floor, calibrate_floor, episode_score
from synafa.money.prices import TOLERANCE, PriceList, affordable
from synafa.money.stops import RULES, States, StopReason, StopRule, Stops
from synafa.money.words import amount, percent

__all__ = [
    "RULES",
    "TOLERANCE",
    "ErrorCosts",
    "Floor",
    "PriceList",
    "States",
    "StopReason",
    "StopRule",
    "Stops",
    "affordable",
    "amount",
    "calibrate_floor",
    "episode_score",
    "percent",
]
