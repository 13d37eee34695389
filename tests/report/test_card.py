"""The printed card, the JSON rules and the model in Python measure the same, case by case."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from synafa import AcquisitionClassifier, PlanTree, PriceList
from synafa.cli.app import run
from synafa.model.rules import follow
from synafa.report.card import card_html, card_lines, card_svg, lay_out

pytestmark = pytest.mark.slow

CASES = 100_000


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Which of two tests tells depends on the site, so the tree asks it; one test is a panel, two share a set-up."""
    rng = np.random.default_rng(0)
    n = 700
    site = rng.choice(["arm", "back", "leg"], n)
    values = rng.normal(size=(n, 4))
    tells = np.where(site == "arm", values[:, 0], np.where(site == "leg", values[:, 1], values[:, 2]))
    ill = tells + rng.normal(0, 0.4, n) > 0
    table = pl.DataFrame({"site": site, **{f"x{j}": np.round(values[:, j], 2) for j in range(4)}})
    table = table.with_columns(x3=pl.when(pl.col("x3") > 1.5).then(None).otherwise(pl.col("x3")))
    prices = PriceList.from_columns(
        table.columns, [0.5, 10.25, 10.25, 7, 7], panel=["", "", "", "p", "p"], group=["", "needle", "needle", "", ""],
        price_in_group=[None, 4.125, 4.125, None, None],
    )  # fmt: skip
    path = tmp_path_factory.mktemp("card") / "m.synafa"
    policy = PlanTree(budget=18, prices=prices)
    AcquisitionClassifier(policy).fit(table, np.where(ill, "ill", "well"), target="illness").save(path)
    return path


@pytest.fixture(scope="module")
def fitted(model):
    from synafa import load_model

    return load_model(model)


@pytest.fixture(scope="module")
def cases():
    """Random cases, with empty cells."""
    rng = np.random.default_rng(1)
    columns = {f"x{j}": np.round(rng.normal(size=CASES), 2) for j in range(4)}
    table = pl.DataFrame({"site": rng.choice(["arm", "back", "leg"], CASES), **columns})
    return table.with_columns(
        pl.when(pl.Series(rng.random(CASES) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in table.columns
    )


class CardReader(HTMLParser):
    """Reads a card as a person does: the text of boxes, the sentences above, the table of prices."""

    def __init__(self, html):
        super().__init__()
        self.boxes, self.head, self.rows, self.depth, self.kind, self.cell = [], [], [], -1, "", False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        kind = dict(attributes).get("class", "")
        if tag == "ol":
            self.depth += 1
        elif tag == "li":
            self.boxes.append({"depth": self.depth, "when": "", "do": "", "soft": "", "no": ""})
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.kind = "cell"
        elif tag in ("p", "span"):
            self.kind = kind

    def handle_endtag(self, tag):
        self.depth -= tag == "ol"
        if tag in ("p", "td", "th"):
            self.kind = ""
        if tag == "span":
            self.kind = "do"

    def handle_data(self, data):
        if self.kind == "cell":
            self.rows[-1][-1] += data
        elif self.kind and self.boxes:
            self.boxes[-1][self.kind] += data
        elif self.kind == "soft":
            self.head.append(data)

    def rules(self):
        """What the card says, in the form that `follow` reads."""
        header, *rows = self.rows
        features = []
        for row in rows:
            cell = dict(zip(header, row))
            names = [name for name in cell.get("comes with", "").split(", ") if name]
            features.append(
                {
                    "feature": cell["feature"],
                    "price": float(cell["price"]),
                    "price_in_group": float(cell.get("after another of its group") or cell["price"]),
                    "group": "ABC".find(cell.get("group") or "-"),
                    "reveals": [cell["feature"], *names],
                    "follows": [name for name in cell.get("then follow", "").split(", ") if name],
                    "known": cell.get("note") == "known from the start",
                    "unavailable": cell.get("note") == "cannot be had",
                }
            )
        budget = re.search(r"Budget: (no limit|[\d.]+)\.", " ".join(self.head)).group(1)
        left = list(self.boxes)
        root = self._node(left)
        assert not left
        return {"budget": None if budget == "no limit" else float(budget), "features": features, "root": root}

    def _node(self, left):
        box = left.pop(0)
        node = {"node": int(box["no"]), "when": box["when"]}
        lists = re.findall(r"(?:Measure|not possible:|money is left:) (.*?)(?:, then stop)?\.(?: |$)", box["do"])
        node["measure"] = [{"feature": name} for part in lists for name in re.findall(r"(\w+) \([\d.]+\)", part)]
        asked = re.match(r"Ask (\w+) \(", box["do"])
        if asked:
            then, other = self._node(left), self._node(left)
            node |= {"ask": asked.group(1), "then": then, "else": other}
            node["without_result"] = "then" if "gives no result" in then["when"] else "else"
            number = re.match(r"If (\w+) is at most ([-\d.e]+?)(?:,|:)", then["when"])
            words = re.match(r"If (\w+) is ([\w ]+?)(?:,|:)", then["when"])
            if number:
                node |= {"test": number.group(1), "if_at_most": float(number.group(2))}
            else:
                node |= {"test": words.group(1), "if_one_of": words.group(2).split(" or ")}
        return node


@pytest.mark.slow
def test_card_json_and_python_measure_the_same_in_100_000_cases(model, fitted, cases, tmp_path, capsys):
    assert run(["card", str(model), "-o", str(tmp_path / "card.html"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written == json.loads(json.dumps(fitted.get_rules())), "--json and get_rules() are the same"
    assert not written["is_panel"], "a tree that asks, or this test would say little"
    card = CardReader((tmp_path / "card.html").read_text(encoding="utf-8")).rules()
    run_ = fitted.policy_.acquire(cases)
    names = np.array(fitted.policy_.encoder_.feature_names_)
    lengths = (run_.order >= 0).sum(axis=1).tolist()
    orders = names[run_.order].tolist()
    differ = 0
    for case, order, length in zip(cases.iter_rows(named=True), orders, lengths):
        by_json, node = follow(written, case)
        by_card, box = follow(card, case)
        differ += by_json != order[:length] or by_card != by_json or box != node
    assert differ == 0
    assert len({tuple(order[:length]) for order, length in zip(orders, lengths)}) >= 3


def test_the_sheet_has_every_line_of_the_card_within_its_borders(fitted):
    rules = fitted.get_rules()
    sheet = lay_out(rules, "m.synafa", "2026-01-02")
    words = " ".join(piece.text for piece in sheet.texts)
    for line in card_lines(rules):
        assert f"[{line.number}] " in words
        assert " ".join(line.people.split()[:2]) in words
    assert "m.synafa, 2026-01-02" in words
    assert all(30 < piece.x < 560 and 30 < piece.y < 815 for piece in sheet.texts)
    assert card_svg(rules).count("<text ") == len(lay_out(rules).texts)


def test_a_large_tree_still_fits_one_sheet(fitted):
    rules = fitted.get_rules()
    node = rules["root"]
    leaves = fitted.policy_.tree_.n_leaves
    while leaves <= 16:  # as many as a plan tree can have: 32
        leaves *= 2
        node = {**rules["root"], "ask": "x0", "test": "x0", "if_at_most": 0.0, "without_result": "then",
                "then": node, "else": node}  # fmt: skip
    sheet = lay_out({**rules, "root": node})
    assert len(sheet.texts) > 3 * leaves
    assert max(piece.y for piece in sheet.texts) < 815


def test_the_card_is_written_as_pdf_svg_and_json(model, tmp_path, capsys):
    for suffix, start in ((".pdf", b"%PDF"), (".svg", b"<svg"), (".json", b"{")):
        assert run(["card", str(model), "-o", str(tmp_path / f"card{suffix}")]) == 0
        assert (tmp_path / f"card{suffix}").read_bytes().startswith(start)
    pdf = (tmp_path / "card.pdf").read_bytes()
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 1, "one page"
    capsys.readouterr()
    assert run(["card", str(model)]) == 2
    assert "-o" in capsys.readouterr().err


def test_the_second_of_a_group_is_listed_at_its_reduced_price():
    def entry(name, price, group, reduced):
        return {
            "feature": name, "price": price, "price_in_group": reduced, "group": group, "reveals": [name],
            "follows": [], "known": False, "unavailable": False,
        }  # fmt: skip

    features = [entry("a", 10.0, 0, 1.0), entry("b", 20.0, 0, 2.0), entry("c", 5.0, -1, 5.0)]
    leaf = {"node": 1, "cases": 2, "shares": {"no": 1.0}, "measure": [{"feature": "b", "planned": True}]}
    listed = [{"feature": name, "planned": True} for name in ("c", "b", "a")]
    root = {"node": 0, "cases": 4, "shares": {"no": 0.5}, "measure": listed}
    rules = {"target": "ill", "budget": None, "is_panel": True, "features": features, "root": root}
    assert card_lines(rules)[0].plan == ("c (5.00)", "b (20.00)", "a (1.00)")
    root |= {"ask": "a", "test": "a", "if_at_most": 0.0, "without_result": "then", "then": leaf, "else": leaf}
    first, then, other = card_lines(rules | {"is_panel": False})
    assert first.first == "a (10.00)"
    assert then.plan == other.plan == ("b (2.00)",)


def test_names_are_not_taken_for_html(fitted):
    rules = json.loads(json.dumps(fitted.get_rules()).replace('"illness"', '"<b>ill & done</b>"'))
    assert "<b>ill" not in card_html(rules)
    assert "<b>ill" not in card_svg(rules)
