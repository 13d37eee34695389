"""Amounts and shares as people read them."""

from __future__ import annotations

import math


def amount(value: float) -> str:
    """An amount of money with two decimals, or with three significant digits where two decimals would hide it.

    Examples
    --------
    >>> amount(102.9), amount(20000), amount(0.00123), amount(0)
    ('102.90', '20000.00', '0.00123', '0.00')
    """
    if 0 < abs(value) < 0.1:
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"
    return f"{value + 0.0:.2f}"


def one_in(share: float) -> str:
    """A share of cases in words.

    Examples
    --------
    >>> one_in(0.005), one_in(0.0)
    ('1 case in 200', 'no case that was seen')
    """
    return "no case that was seen" if share <= 0 else f"1 case in {max(1, round(1 / share)):,}"


def percent(share: float) -> str:
    """A share in per cent, cut rather than rounded, so that 99.96 % is not called certain.

    Examples
    --------
    >>> percent(0.97), percent(0.9996), percent(1.0), percent(0.123456), percent(0.0004)
    ('97 %', '99.9 %', '100 %', '12.3 %', '0 %')
    """
    cut = math.floor(share * 1000 + 1e-6) / 10
    return f"{cut:g} %"
