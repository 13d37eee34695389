"""Price lists and tables of error costs as people type them: odd cells, names, separators, widths and bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from synafa import ErrorCosts, PriceList
from synafa.errors import SynafaError
from tests.faults.campaign import one_sentence
from tests.faults.tables import CELLS, NAMES, damaged

FEATURES = ("age", "lactate", "x ray", "a,b")
PRICES = [
    ["feature", "price", "panel", "group", "price_in_group"],
    ["age", "0", "", "", ""],
    ["lactate", "12.50", "", "blood", "4"],
    ["x ray", "80", "", "", ""],
    ['"a,b"', "7", "", "blood", "2"],
]
ERRORS = [["true", "decided", "cost"], ["ill", "well", "500"], ["well", "ill", "20"]]
WORDS = (
    *CELLS,
    *NAMES,
    "€ 5",
    "5 EUR",
    "1.000",
    "1,000",
    "1 000",
    "-1",
    "1e308",
    "1e309",
    "blood",
    "age",
    "ill",
    "3/4",
)


def attempt(rng: np.random.Generator, folder: Path) -> str:
    """A price list or a table of error costs with some odd cells; now and then with damaged bytes."""
    prices = bool(rng.random() < 0.6)
    rows = [list(row) for row in (PRICES if prices else ERRORS)]
    for _ in range(rng.integers(0, 4)):
        change, row = rng.integers(5), rows[rng.integers(len(rows))]
        if change == 0:
            rows.append(list(row))
        elif change == 1 and len(rows) > 1:
            rows.remove(row)
        elif change == 2:
            row.append("1")
        elif row:
            row[rng.integers(len(row))] = WORDS[rng.integers(len(WORDS))]
    separator = str(rng.choice([",", ",", ";", "\t", "|"]))
    data = "\n".join(separator.join(row) for row in rows).encode(
        str(rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    )
    path = folder / str(rng.choice(["p.csv", "p.csv", "p.txt"]))
    path.write_bytes(damaged(rng, data) if rng.random() < 0.2 and data else data)
    try:
        if prices:
            found = PriceList.from_csv(path, FEATURES, known=["age"])
            assert np.isfinite(found.price).all()
            assert (found.price >= 0).all()
            assert (found.price_in_group <= found.price).all()
        else:
            costs = ErrorCosts.from_csv(path, ["ill", "well"])
            assert np.isfinite(costs.matrix).all()
            assert (costs.matrix >= 0).all()
    except SynafaError as error:
        one_sentence(str(error), most=20_000)  # names of thousands of characters are repeated whole
        return "refused"
    return "read"
