"""The cost files of the published folds become price lists and error costs."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.test_costs import FOLDS, LEVELS, TABLES, read_costs, read_rows

from synafa.errors import SynafaError

TEXT = """0 25
6 0
Attribute-name test-cost discount group binarize-begin binarize-end
sex 1.0 1.0 x 0 0
albumin 7.27 5.17 a 1 3
protime 8.3 6.2 a 4 4
"""


def write(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    return path


def test_a_cost_file_is_read(tmp_path):
    costs = read_costs(write(tmp_path, TEXT))
    assert costs.errors.matrix.tolist() == [[0, 25], [6, 0]]
    assert costs.prices.price.tolist() == [1.0, 7.27, 8.3]
    assert costs.prices.price_in_group.tolist() == [1.0, 5.17, 6.2]
    assert costs.prices.group.tolist() == [-1, 0, 0]
    assert costs.columns == ((0, 0), (1, 3), (4, 4))


def test_the_binary_columns_of_a_feature_are_a_panel(tmp_path):
    costs = read_costs(write(tmp_path, TEXT))
    columns = costs.column_prices()
    assert columns.feature_names == ("sex_0", "albumin_0", "albumin_1", "albumin_2", "protime_0")
    assert columns.panels == ((1, 2, 3),)
    assert columns.cost_of([1, 2, 3]) == 7.27
    assert columns.cost_of(range(5)) == pytest.approx(costs.prices.cost_of(range(3)))
    assert columns.now(np.array([False, False, True, False, False])).tolist() == [1.0, 5.17, 5.17, 5.17, 6.2]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Attribute-name", "name", "no line that begins with"),
        ("albumin 7.27", "albumin", "not a file of test prices"),
        ("a 4 4", "a 5 5", "do not follow each other"),
    ],
)
def test_damaged_files_are_refused(tmp_path, old, new, sentence):
    with pytest.raises(SynafaError, match=sentence):
        read_costs(write(tmp_path, TEXT.replace(old, new)))


@pytest.mark.data
def test_heart_as_published(data_dir):
    folds = data_dir / "test-costs" / "folds"
    matrices = {level: read_costs(folds / f"heart-{level}-costs.csv").errors.matrix.tolist() for level in LEVELS}
    assert matrices == {"low": [[0, 75], [88, 0]], "middle": [[0, 151], [177, 0]], "high": [[0, 455], [531, 0]]}
    prices = read_costs(folds / "heart-middle-costs.csv").prices
    thal, thalach = (prices.feature_names.index(name) for name in ("thal", "thalach"))
    paid = np.zeros(prices.n_features, dtype=bool)
    assert prices.now(paid)[thal] == 102.9
    paid[thalach] = True
    assert prices.now(paid)[thal] == 1.0
    assert prices.cost_of([thal, thalach]) == 103.9


@pytest.mark.data
@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_rows_of_its_columns_and_the_same_prices_at_all_levels(data_dir, table):
    folds = data_dir / "test-costs" / "folds"
    costs = [read_costs(folds / f"{table}-{level}-costs.csv") for level in LEVELS]
    assert len({str(cost.prices.to_meta()) for cost in costs}) == 1
    for k in FOLDS:
        for part in ("train", "test"):
            X, y = read_rows(folds / f"{table}-{part}-{k}.csv")
            assert X.shape[1] == costs[0].n_columns
            assert set(np.unique(y)) <= set(costs[0].errors.classes)
