"""Draws the picture of the first page from the embedded table: `python docs/make_images.py` writes docs/images/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from synafa import SynAFA
from synafa.datasets.embedded import embedded_path
from synafa.files import write_text
from synafa.money import PriceList
from synafa.table.reading import read_table, split_target

IMAGES = Path(__file__).resolve().parent / "images"


def heart_graph() -> str:
    """The policy for heart disease as an SVG: prices as published, one measurement at a time."""
    table, disease = split_target(read_table(embedded_path("heart")), "disease")
    prices = PriceList.from_csv(embedded_path("heart-prices"), table.columns)
    costs = dict(zip(prices.feature_names, prices.price))
    policy = SynAFA(budget=250, costs=costs, cost_weight=0.002, pair_branch=False)
    policy.fit(table, np.where(disease == 1, "disease", "healthy"), target="heart disease")
    return policy.decision_graph(max_depth=3, min_share=0.03).to_svg("Which measurement next, for heart disease?")


if __name__ == "__main__":
    write_text(IMAGES / "heart-graph.svg", heart_graph())
