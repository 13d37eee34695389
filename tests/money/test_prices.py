"""A price list says what asking costs now, what a set costs at least, and which line of its file is wrong."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.money import TOLERANCE, PriceList, affordable

HEART = "feature,price,panel,group,price_in_group\nage,1,,,\nthal,102.9,,a,1\nthalach,102.9,,a,1\n"


def write(tmp_path, text, name="prices.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@st.composite
def price_lists(draw, max_features=6):
    """Prices with panels and groups, drawn by units: a unit is a feature or a panel."""
    d = draw(st.integers(1, max_features))
    unit = [draw(st.integers(0, d - 1)) for _ in range(d)]
    group = {u: draw(st.sampled_from(["", "", "a", "b"])) for u in unit}
    price = {u: draw(st.sampled_from([0.0, 0.1, 1.0, 2.5, 7.0, 100.9])) for u in unit}
    inside = {u: price[u] * draw(st.sampled_from([0.0, 0.2, 0.9, 1.0])) for u in unit}
    return PriceList.from_columns(
        [f"x{j}" for j in range(d)],
        [price[u] for u in unit],
        [f"panel {u}" for u in unit],
        [group[u] for u in unit],
        [inside[u] if group[u] else None for u in unit],
    )


def naive_now(prices, acquired, j):
    """The price of asking for j, from the words of the contract."""
    g = prices.group[j]
    paid = g >= 0 and any(acquired[k] and prices.group[k] == g for k in range(prices.n_features))
    return prices.price_in_group[j] if paid else prices.price[j]


def cheapest_order(prices, features, acquired):
    """Try every order; a feature that is revealed already is not bought."""
    best = np.inf
    for order in itertools.permutations(features):
        have = acquired.copy()
        for j in np.flatnonzero(acquired):
            have |= prices.reveals[j]
        paid = 0.0
        for j in order:
            if not have[j]:
                paid += naive_now(prices, have, j)
                have |= prices.reveals[j]
        best = min(best, paid)
    return best


@settings(max_examples=150, deadline=None)
@given(price_lists(), st.data())
def test_what_a_set_costs_is_the_cheapest_of_all_orders(prices, data):
    d = prices.n_features
    features = data.draw(st.lists(st.integers(0, d - 1), unique=True))
    acquired = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    assert prices.cost_of(features, acquired) == pytest.approx(cheapest_order(prices, features, acquired), abs=1e-12)
    nothing = np.zeros(d, dtype=bool)
    assert prices.cost_of(features) == pytest.approx(cheapest_order(prices, features, nothing), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(price_lists(), st.data())
def test_the_price_now_is_reduced_once_a_member_of_the_group_was_paid(prices, data):
    d = prices.n_features
    acquired = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=d, max_size=d), min_size=1, max_size=4)))
    now = prices.now(acquired)
    assert now.shape == acquired.shape
    assert now.dtype == np.float64
    # A list is plain only if no state changes a price; then the whole matrix is the price row.
    for row, state in enumerate(acquired):
        # a member that is acquired itself is masked by callers, so only the others are compared
        for j in np.flatnonzero(~(state @ prices.reveals | state)):
            assert now[row, j] == naive_now(prices, state, j)
            assert prices.cost_of([j], state) == now[row, j]
        np.testing.assert_array_equal(prices.now(state), now[row])
    with pytest.raises(ValueError, match="read-only"):
        now[0, 0] = 5.0


def test_plain_prices_never_change():
    prices = PriceList.plain(["a", "b"], [1.0, 2.0])
    assert prices.is_plain
    np.testing.assert_array_equal(prices.now(np.eye(2, dtype=bool)), [[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_array_equal(prices.reveals, np.eye(2, dtype=bool))
    assert prices.cost_of([0, 1]) == 3.0


def test_plain_costs_follow_the_old_rules():
    assert PriceList.plain("ab").price.tolist() == [1.0, 1.0]
    assert PriceList.plain("abc", {"b": 0.5}).price.tolist() == [1.0, 0.5, 1.0]
    with pytest.raises(SynafaError, match="unknown feature 'tahl'; did you mean 'thal'"):
        PriceList.plain(["thal", "age"], {"tahl": 1})
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(SynafaError, match=r"cost of 'b' is .*finite number of at least 0"):
            PriceList.plain("ab", [1.0, bad])
    with pytest.raises(SynafaError, match=r"each of the 2 features, got \(3,\)"):
        PriceList.plain("ab", [1, 2, 3])


def test_a_group_of_one_and_a_reduction_of_nothing_are_plain():
    assert PriceList.from_columns("ab", [5, 5], group=["g", ""], price_in_group=[1, None]).is_plain
    assert PriceList.from_columns("ab", [5, 5], group=["g", "g"], price_in_group=[5, 5]).is_plain
    assert not PriceList.from_columns("ab", [5, 5], group=["g", "g"], price_in_group=[5, 4]).is_plain
    assert not PriceList.from_columns("ab", [5, 5], panel=["p", "p"]).is_plain
    assert PriceList.from_columns("ab", [5, 5], panel=["p", "q"]).is_plain


def test_a_panel_is_revealed_together_and_paid_once():
    prices = PriceList.from_columns("abcd", [4, 4, 1, 4], panel=["blood", "blood", "", "blood"])
    assert prices.panels == ((0, 1, 3),)
    assert prices.reveals[1].tolist() == [True, True, False, True]
    assert prices.reveals[2].tolist() == [False, False, True, False]
    assert prices.cost_of([0, 1, 2, 3]) == 5.0
    assert prices.cost_of([3], np.array([True, False, False, False])) == 0.0


def test_affordable_forgives_rounding_and_no_more():
    assert affordable(0.1 + 0.2, 0.3)
    assert not affordable(0.3 + 3 * TOLERANCE, 0.3)
    prices = PriceList.from_columns("ab", [10, 10], group="gg", price_in_group=[1, 2])
    states = np.array([[False, False], [True, False]])
    assert prices.affordable(states, np.array([5.0, 5.0])).tolist() == [[False, False], [True, True]]


def test_prices_of_many_states_are_those_of_each():
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(784)]
    group = [f"g{j % 40}" for j in range(784)]
    prices = PriceList.from_columns(names, [10.0] * 784, group=group, price_in_group=[1.0] * 784)
    acquired = rng.random((8192, 784)) < 0.02
    now = prices.now(acquired)
    for row, feature in rng.integers(0, (8192, 784), size=(20, 2)):
        assert now[row, feature] == naive_now(prices, acquired[row], feature)


def test_heart_as_a_file(tmp_path):
    prices = PriceList.from_csv(write(tmp_path, HEART))
    assert prices.feature_names == ("age", "thal", "thalach")
    assert prices.group.tolist() == [-1, 0, 0]
    assert prices.group_names == ("a",)
    assert prices.price_in_group.tolist() == [1.0, 1.0, 1.0]
    assert prices.cost_of([0, 1, 2]) == 104.9
    ordered = PriceList.from_csv(tmp_path / "prices.csv", ["thalach", "age", "thal"])
    assert ordered.price.tolist() == [102.9, 1.0, 102.9]
    assert ordered.group.tolist() == [0, -1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "feature;price\nage;1\nthal;102,90\n",
        "feature\tprice\nage\t1,0\nthal\t102,9\n",
        'feature,price\nage,1\nthal,"102,90"\n',
        '"feature","price"\n"age","1"\n"thal","102.9"\n',
        "\ufeffFeature, Price \r\n age , 1.0\r\n thal , 102.9\r\n\r\n",
        "price;feature;group;panel;price_in_group\n€ 1,00;age;;;\n102,90 €;thal;NA;NA;NA\n",
        "feature;price\nage;1 EUR\nthal;CHF\u202f102.90\n",
    ],
)
def test_ways_to_write_the_same_list(tmp_path, text):
    prices = PriceList.from_csv(write(tmp_path, text), ["age", "thal"])
    assert prices.price.tolist() == [1.0, 102.9]
    assert prices.is_plain


@pytest.mark.parametrize(
    ("cell", "number"),
    [("1.234,50", 1234.5), ("1 234,5", 1234.5), ("20\u2009000", 20000), ("1.234.567", 1234567), ("0,125", 0.125)],
)
def test_thousands_are_understood_where_nothing_else_can_be_meant(tmp_path, cell, number):
    assert PriceList.from_csv(write(tmp_path, f"feature;price\na;{cell}\n")).price[0] == number


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("feature,price\nage,1\nthall,3\n", "line 3, column 'feature': 'thall' is not a feature; did you mean 'thal'."),
        ("feature,price\nage,1\n", "has no price for 'thal'; add a line for each."),
        ("feature,price\nage,1\nthal,2\nage,1\n", "line 4, column 'feature': 'age' is in the price list twice."),
        ("feature,price\nage,-1\nthal,2\n", "line 2, column 'price': the price of 'age' is -1; it must be finite and"),
        ("feature,price\nage,NaN\nthal,2\n", "line 2, column 'price': the price of 'age' is NaN; it must be finite"),
        ("feature,price\nage,inf\nthal,2\n", "line 2, column 'price': the price of 'age' is inf; it must be finite"),
        ("feature,price\nage,\nthal,2\n", "line 2, column 'price': the price of 'age' is missing."),
        ("feature,price\n,1\nthal,2\n", "line 2, column 'feature': the name of the feature is missing."),
        ("feature,price\nage,cheap\nthal,2\n", "line 2, column 'price': the cell holds 'cheap', which is no number."),
        ("feature;price\nage;1\nthal;1,234\n", "line 3, column 'price': the cell holds '1,234', which could be 1.234"),
        ("feature;price\nage;1,5\nthal;1.234\n", "line 3, column 'price': '1.234' is ambiguous in a list with decimal"),
        ("feature,price\nage,1\nthal,102,90\n", "line 3 has 3 cells and the header 2; if a number there has a decimal"),
        ("feature,price,panel\nage,1,\nthal,102,90\n", "line 3, column 'panel': '90' stands alone after the price 102"),
        ("feature,price,panel\nage,1\nthal,1,\n", "line 2 has 2 cells and the header 3."),
        (
            "feature,price,panel\nage,1,p\nthal,2,p\n",
            "line 3, column 'price': 'thal' has price 2 but 'age', of the same panel 'p', has 1; a panel has one price",
        ),
        (
            "feature,price,panel,group,price_in_group\nage,1,p,g,1\nthal,1,p,h,1\n",
            "line 3, column 'group': 'thal' has group h but 'age', of the same panel 'p', has g;",
        ),
        (
            "feature,price,panel,group,price_in_group\nage,1,p,g,1\nthal,1,p,,\n",
            "line 3, column 'group': 'thal' has group none but 'age'",
        ),
        (
            "feature,price,panel,group,price_in_group\nage,2,p,g,1\nthal,2,p,g,2\n",
            "line 3, column 'price_in_group': 'thal' has price_in_group 2 but 'age'",
        ),
        (
            "feature,price,group,price_in_group\nage,1,,1\nthal,1,,\n",
            "line 2, column 'price_in_group': 'age' has a price_in_group but no group.",
        ),
        (
            "feature,price,group\nage,1,g\nthal,1,g\n",
            "line 2, column 'price_in_group': 'age' is in the group 'g' but has no price_in_group; write what it costs",
        ),
        (
            "feature,price,group,price_in_group\nage,1,g,2\nthal,1,g,1\n",
            "line 2, column 'price_in_group': price_in_group of 'age' is 2, more than its price 1.",
        ),
        ("feature,price,grp\nage,1,g\nthal,1,g\n", "has an unknown column 'grp'; its columns are feature, price,"),
        ("feature,price,price\nage,1,1\nthal,1,1\n", "has two columns 'price'."),
        ("feature,panel\nage,\nthal,\n", "has no column 'price'; it needs 'feature' and 'price'."),
        ("", "is empty."),
        ("PK\x03\x04", "is a spreadsheet; save the price list as CSV (UTF-8) and give that file."),
    ],
)
def test_every_problem_is_a_sentence_with_its_place(tmp_path, text, sentence):
    path = write(tmp_path, text)
    with pytest.raises(SynafaError) as caught:
        PriceList.from_csv(path, ["age", "thal"])
    message = str(caught.value)
    assert sentence in message
    assert str(path) in message
    assert message.endswith(".")
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SynafaError, match="There is no price list"):
        PriceList.from_csv(tmp_path / "none.csv")
    with pytest.raises(SynafaError, match="is a folder"):
        PriceList.from_csv(tmp_path)
    with pytest.raises(SynafaError, match="not a text file in UTF-8"):
        PriceList.from_csv(write(tmp_path, "feature;price\nGröße;1 €\n", encoding="cp1252"))
    with pytest.raises(SynafaError, match="column names but no features"):
        PriceList.from_csv(write(tmp_path, "feature,price\n"))


def test_features_left_out_of_a_file(tmp_path):
    path = write(tmp_path, "feature,price\nthal,102.9\n")
    assert PriceList.from_csv(path, ["age", "thal"], known=["age"]).price.tolist() == [0.0, 102.9]
    assert PriceList.from_csv(path, ["age", "thal"], default=2).price.tolist() == [2.0, 102.9]
    assert PriceList.from_csv(path, ["age", "sex", "thal"], known=["age"], default=2).price.tolist() == [0, 2, 102.9]
    with pytest.raises(SynafaError, match="no price for 'sex'"):
        PriceList.from_csv(path, ["age", "sex", "thal"], known=["age"])


def test_columns_are_checked_like_files():
    with pytest.raises(SynafaError, match=r"^'b' has price 2 but 'a', of the same panel 'p', has 1; .*group.$"):
        PriceList.from_columns("ab", [1, 2], panel=["p", "p"])
    with pytest.raises(SynafaError, match=r"^The price of 'a' is 'x'; a price must be a finite number"):
        PriceList.from_columns("ab", ["x", 2])
    with pytest.raises(SynafaError, match=r"^The column 'price' has 1 cells for 2 features"):
        PriceList.from_columns("ab", [1])


def test_arrays_that_contradict_themselves_are_refused():
    with pytest.raises(SynafaError, match="panel 1"):
        PriceList(("a", "b"), np.ones(2), panels=((0, 0),))
    with pytest.raises(SynafaError, match="panel 2"):
        PriceList(("a", "b", "c"), np.ones(3), panels=((0, 1), (1, 2)))
    with pytest.raises(SynafaError, match="must have one price and one group"):
        PriceList(("a", "b"), np.array([1.0, 2.0]), panels=((0, 1),))
    with pytest.raises(SynafaError, match="price_in_group but no group"):
        PriceList(("a", "b"), np.ones(2), price_in_group=np.array([1.0, 0.5]))
    with pytest.raises(SynafaError, match="'a' is in the price list twice"):
        PriceList(("a", "a"), np.ones(2))
    with pytest.raises(SynafaError, match="price must hold one value for each of the 2 features"):
        PriceList(("a", "b"), np.ones(3))


@settings(max_examples=60, deadline=None)
@given(price_lists())
def test_a_list_survives_json_and_csv(tmp_path_factory, prices):
    meta = prices.to_meta()
    assert PriceList.from_meta(json.loads(json.dumps(meta))).to_meta() == meta
    path = tmp_path_factory.mktemp("prices") / "p.csv"
    prices.to_csv(path)
    again = PriceList.from_csv(path, prices.feature_names)
    again.to_csv(path.with_name("q.csv"))
    assert again.to_meta() == meta
    assert path.read_text() == path.with_name("q.csv").read_text()


def test_damaged_meta_is_a_sentence():
    with pytest.raises(SynafaError, match="stored price list cannot be read"):
        PriceList.from_meta({"feature_names": ["a"]})


def test_select_keeps_what_is_left_of_panels_and_groups():
    prices = PriceList.from_columns("abcd", [4, 4, 1, 4], ["p", "p", "", "p"], ["g", "g", "g", "g"], [2, 2, 1, 2])
    part = prices.select(["c", "d", "a"])
    assert part.panels == ((1, 2),)
    assert part.group.tolist() == [0, 0, 0]
    assert part.price_in_group.tolist() == [1, 2, 2]
    assert prices.select(["a", "c"]).panels == ()
    with pytest.raises(SynafaError, match="no price for 'e'"):
        prices.select(["e"])


def test_resolve_takes_what_users_give(tmp_path):
    path = write(tmp_path, HEART)
    names = ("thal", "age", "thalach")
    assert PriceList.resolve(None, names).price.tolist() == [1, 1, 1]
    assert PriceList.resolve([1, 2, 3], names).price.tolist() == [1, 2, 3]
    assert PriceList.resolve({"age": 7}, names).price.tolist() == [1, 7, 1]
    from_file = PriceList.resolve(str(path), names)
    assert from_file.price.tolist() == [102.9, 1.0, 102.9]
    assert PriceList.resolve(PriceList.from_csv(path), names).to_meta() == from_file.to_meta()
