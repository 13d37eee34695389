"""`PriceList.now` and what asking reveals, compiled for one row of a mask; `tests/money` holds them against it."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def price_now(j, mask, price, in_group, group, at_start):  # type: ignore[no-untyped-def]
    """What asking for j costs: the reduced price if a member of its group is known and was not so from the start."""
    if group[j] >= 0:
        for k in range(mask.size):
            if group[k] == group[j] and mask[k] and not at_start[k]:
                return in_group[j]
    return price[j]


@njit(cache=True)
def price_after(k, j, now, in_group, group, reveals, at_start):  # type: ignore[no-untyped-def]
    """What asking for k costs once j was asked: nothing in one panel, the reduced price in one group, else `now`."""
    if reveals[j, k]:
        return 0.0
    if group[k] >= 0 and group[k] == group[j] and not at_start[j]:
        return in_group[k]
    return now[k]
