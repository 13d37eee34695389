"""What measurements and errors cost in one currency: prices with panels and groups, error costs, stop rules, floors."""

from __future__ import annotations

from synafa.money.errors import ErrorCosts
from synafa.money.prices import TOLERANCE, PriceList, affordable

__all__ = ["TOLERANCE", "ErrorCosts", "PriceList", "affordable"]
