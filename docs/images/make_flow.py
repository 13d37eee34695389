"""Draws docs/images/flow.svg, the picture in docs/architecture.md: `python docs/images/make_flow.py`."""

from __future__ import annotations

from pathlib import Path

WIDTH, HEIGHT, STEP = 188, 84, 219
ROWS = (84, 226, 366)
MAIN, MONEY, OUT, RESEARCH = (
    ("#f5f8fb", "#7f97b2"),
    ("#fdf6ec", "#d6a55c"),
    ("#eef6f1", "#76a98c"),
    ("#f4f2f8", "#9a8cbf"),
)
BOXES = [
    (0, 0, MAIN, "table/", "CSV, Parquet, data frames", "to numbers and categories"),
    (1, 0, MAIN, "information/", "exact counts of pairs", "to single, pair, cond in bits"),
    (2, 0, MAIN, "predictor/", "class probabilities from", "any subset of the features"),
    (3, 0, MAIN, "plan/, policy/", "what to measure next,", "and why, in every state"),
    (4, 0, MAIN, "model/", "policy and predictor", "as one file without rows"),
    (0, 1, MAIN, "stream/", "tables larger than memory,", "batch by batch"),
    (1, 1, OUT, "stats/", "paired tests, intervals,", "permutation tests"),
    (2, 1, OUT, "evaluation/", "one harness for every", "policy: Run, metrics"),
    (3, 1, MONEY, "money/", "prices, panels, groups,", "error costs, when to stop"),
    (4, 1, OUT, "graph/, report/, proof/", "drawings, pages, proof", "on one's own table"),
    (4, 2, OUT, "cli/, web/, demo/", "commands, the local page,", "the demonstration"),
]


def at(column: float, row: int) -> tuple[float, float]:
    """The upper left corner of a box."""
    return 20 + STEP * column, ROWS[row]


def box(column: float, row: int, colours: tuple[str, str], title: str, *lines: str, width: float = WIDTH) -> list[str]:
    x, y = at(column, row)
    fill, edge = colours
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="9" fill="{fill}" stroke="{edge}"/>']
    parts.append(f'<text x="{x + 12}" y="{y + 26}" font-size="15" font-weight="bold" fill="#1c2733">{title}</text>')
    for i, line in enumerate(lines):
        parts.append(f'<text x="{x + 12}" y="{y + 48 + 17 * i}" font-size="12.5" fill="#4a5866">{line}</text>')
    return parts


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1} {y1} L{x2} {y2}" stroke="#5b6b7b" stroke-width="2" marker-end="url(#tip)"/>'


def flow() -> str:
    """The picture as SVG."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1105 470" font-family="Helvetica, Arial, sans-serif" '
        'role="img" aria-label="How data flows through the folders of synafa">',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L10 5 L0 10 z" fill="#5b6b7b"/></marker></defs>',
        '<rect width="1105" height="470" fill="#ffffff"/>',
        '<text x="20" y="34" font-size="20" font-weight="bold" fill="#1c2733">How data flows</text>',
        '<text x="20" y="58" font-size="13" fill="#4a5866">From a table to a model along the first row; '
        "what it costs, how it is judged and how it is shown below.</text>",
    ]
    for entry in BOXES:
        parts += box(*entry)
    research = "datasets by name, nine published policies, the shared network, tests of every pair,"
    titles = "datasets/, baselines/, neural/, analysis/, study/"
    parts += box(
        0, 2, RESEARCH, titles, research, "experiments, and the report beside the paper", width=3 * STEP + WIDTH
    )
    for column in range(4):
        x, y = at(column, 0)
        parts.append(arrow(x + WIDTH + 2, y + HEIGHT / 2, x + STEP - 3, y + HEIGHT / 2))
    top, middle, bottom = ROWS
    parts.append(arrow(20 + WIDTH - 20, middle - 2, 20 + STEP + 30, top + HEIGHT + 4))  # stream to information
    parts.append(arrow(20 + 3 * STEP + 60, top + HEIGHT + 2, 20 + 2 * STEP + WIDTH - 20, middle - 4))  # to evaluation
    parts.append(arrow(20 + 3 * STEP + 130, middle - 2, 20 + 3 * STEP + 130, top + HEIGHT + 4))  # money to plans
    parts.append(arrow(20 + 2 * STEP - 2, middle + HEIGHT / 2, 20 + STEP + WIDTH + 4, middle + HEIGHT / 2))  # to stats
    for above, below in ((top, middle), (middle, bottom)):  # model to graph and report, those to people
        parts.append(arrow(20 + 4 * STEP + WIDTH / 2, above + HEIGHT + 2, 20 + 4 * STEP + WIDTH / 2, below - 4))
    parts.append(arrow(20 + 2 * STEP + WIDTH / 2, bottom - 2, 20 + 2 * STEP + WIDTH / 2, middle + HEIGHT + 4))
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "flow.svg").write_text(flow(), encoding="utf-8")
