"""Draws the picture of the first page from the embedded table: `python docs/make_images.py` writes docs/images/."""

from __future__ import annotations

from pathlib import Path

from synafa import PlanTree, PriceList
from synafa.datasets.embedded import embedded_path
from synafa.files import write_text
from synafa.table.reading import read_table, split_target

IMAGES = Path(__file__).resolve().parent / "images"
BUDGET = 120  # as in the README


def heart_graph() -> str:
    """The model of the README as an SVG: published prices, age and sex known, at most `BUDGET` for a patient."""
    table, disease = split_target(read_table(embedded_path("heart-words")), "disease")
    prices = PriceList.from_csv(embedded_path("heart-words-prices"), table.columns)
    policy = PlanTree(budget=BUDGET, prices=prices).fit(table, disease, known=["age", "sex"], target="disease")
    return policy.decision_graph().to_svg("Which measurement next, for heart disease?")


if __name__ == "__main__":
    write_text(IMAGES / "heart-graph.svg", heart_graph())
