"""The searches under the diagnostic objective, swap by swap against loops; what they achieve is in `tests/policy`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synafa.analysis.objective import local_search, set_objective
from synafa.information.tables import InformationTables
from tests import naive


@pytest.fixture(scope="module")
def case() -> tuple[InformationTables, np.ndarray, np.ndarray]:
    """Made-up tables, codes and sets of 150 rows; the values are eighths, so that many swaps tie."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, size=(150, 14)).astype(np.uint8)
    made = InformationTables.from_codes(codes, np.arange(150) % 2)
    tables = replace(made, single=rng.integers(0, 4, 14) / 8, cond=rng.integers(0, 9, (14, 14, 2)) / 8)
    mask = np.zeros((150, 14), bool)
    for row in mask:
        row[rng.choice(14, 5, replace=False)] = True
    return tables, codes, mask


def swaps_of(found, i: int) -> list[tuple[int, int]]:
    mine = found.row == i
    return list(zip(found.removed[mine].tolist(), found.added[mine].tolist()))


def test_the_uncorrected_search_is_the_one_of_loops_also_where_it_goes_in_circles(case):
    tables, codes, mask = case
    found = local_search(tables, codes, mask, corrected=False, max_rounds=60)
    assert 0 < found.converged.sum() < len(mask)
    for i in range(len(mask)):
        swaps, final = naive.loose_search(tables, codes[i], np.flatnonzero(mask[i]), 60)
        assert swaps_of(found, i) == swaps
        assert set(np.flatnonzero(found.mask[i])) == set(final)


def test_changes_add_up_to_the_change_of_the_objective(case):
    tables, codes, mask = case
    for corrected in (True, False):
        found = local_search(tables, codes, mask, corrected=corrected)
        gained = np.bincount(found.row, found.delta, minlength=len(mask))
        change = set_objective(tables, codes, found.mask) - set_objective(tables, codes, mask)
        assert np.allclose(gained, change, atol=1e-9)


def test_no_other_swap_would_have_raised_the_objective_more(case):
    tables, codes, mask = case
    found = local_search(tables, codes, mask)
    for i in range(40):
        members = set(np.flatnonzero(mask[i]).tolist())
        for removed, added in swaps_of(found, i):
            after = {
                (out, into): naive.objective(tables, codes[i], (members - {out}) | {into})
                for out in members
                for into in set(range(14)) - members
            }
            assert after[removed, added] >= max(after.values()) - 1e-12
            members = (members - {removed}) | {added}
