"""A policy's rules as one printable page: what is asked in which order, at which price, and how cases divide.

The card is made from nothing but the JSON values of `get_rules()`; following it by hand gives what the model does.
`card_html` writes a nested list, `lay_out` places the same lines on an A4 sheet, which `card_svg` and `card_pdf` draw.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from synafa.money.words import amount, percent

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 36.0  # A4 in points
_CSS = """
@page { size: A4; margin: 12mm; }
body { font: 14px/1.35 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #111; max-width: 60rem;
  margin: 1rem auto; padding: 0 1rem; background: #fff; }
h1 { font-size: 1.4em; margin: 0 0 .2em; } h2 { font-size: 1.1em; margin: 1em 0 .3em; }
p { margin: .1em 0; } .soft { color: #444; }
ol, ol ol { list-style: none; margin: 0; padding: 0; }
ol ol { margin-left: .5em; padding-left: 1em; border-left: 2px solid #666; }
li { padding: .25em 0; break-inside: avoid; } .when { font-weight: 600; }
.no { display: inline-block; min-width: 1.6em; text-align: center; border: 1px solid #444; border-radius: 4px;
  margin-right: .4em; }
table { border-collapse: collapse; font-size: .92em; }
th, td { text-align: left; padding: .1em .9em .1em 0; border-bottom: 1px solid #888; }
@media print { body { font-size: SIZEpx; max-width: none; margin: 0; padding: 0; } }
"""


@dataclass(frozen=True)
class Line:
    """A node of the tree on the card.

    Attributes
    ----------
    number : int
        The node's number.
    depth : int
        How deep in the tree.
    when : str
        The answer that leads here, empty at the root.
    first : str
        What is asked here with its price, or an empty text in a leaf.
    plan, spare : tuple of str
        What is measured in order, and what takes the place of things that cannot be had or uses money that is left.
    people : str
        How many cases came here and how their classes divide.
    """

    number: int
    depth: int
    when: str
    first: str
    plan: tuple[str, ...]
    spare: tuple[str, ...]
    people: str


def exact(value: float) -> str:
    """A number for a person that still is that number: two decimals where they are enough, else up to ten digits.

    >>> exact(102.9), exact(0.125), exact(3.0)
    ('102.90', '0.125', '3.00')
    """
    short = amount(value)
    return short if float(short) == value else f"{value:.10g}"


def threshold(value: float) -> str:
    """A limit with up to ten digits: `2.15` for 2.1500000000000004."""
    return f"{value:.10g}"


def card_lines(rules: Mapping[str, Any]) -> list[Line]:
    """The nodes of the rules in the order in which a person reads them."""
    return list(_lines(rules["root"], rules, 0, "", frozenset()))


def _lines(
    node: Mapping[str, Any], rules: Mapping[str, Any], depth: int, when: str, paid: frozenset[int]
) -> Iterator[Line]:
    """The node and all below it; `paid` are the groups that were paid on the way here."""
    features = {entry["feature"]: entry for entry in rules["features"]}
    told, groups = [], paid
    for one in node["measure"]:
        told.append((f"{one['feature']} ({_price(features[one['feature']], groups)})", one["planned"]))
        groups |= {features[one["feature"]]["group"]}
    shares = ", ".join(f"{label} {percent(share)}" for label, share in node["shares"].items())
    cases = "1 case" if node["cases"] == 1 else f"{node['cases']:,} cases"
    ask = node.get("ask")
    yield Line(
        node["node"],
        depth,
        when,
        f"{ask} ({_price(features[ask], paid)})" if ask else "",
        tuple(words for words, planned in told if planned),
        tuple(words for words, planned in told if not planned),
        f"{cases}, {rules['target']}: {shares}",
    )
    if not ask:
        return
    test, without = node["test"], node["without_result"]
    if "if_one_of" in node:
        yes = f"If {test} is {' or '.join(node['if_one_of'])}"
    else:
        yes = f"If {test} is at most {threshold(node['if_at_most'])}"
    none, paid = f", or {test} gives no result", paid | {features[ask]["group"]}
    yield from _lines(node["then"], rules, depth + 1, f"{yes}{none if without == 'then' else ''}:", paid)
    yield from _lines(node["else"], rules, depth + 1, f"Otherwise{none if without == 'else' else ''}:", paid)


def _price(entry: Mapping[str, Any], paid: frozenset[int]) -> str:
    """What a feature costs after these groups were paid; -1 is no group."""
    reduced = entry["group"] >= 0 and entry["group"] in paid
    return exact(entry["price_in_group"] if reduced else entry["price"])


def group_letter(group: int) -> str:
    """What a group is called on the card: A, B, ..., Z, then 27, 28, ..."""
    return chr(ord("A") + group) if group < 26 else str(group + 1)


def card_head(rules: Mapping[str, Any], name: str, date: str) -> tuple[str, list[str]]:
    """Title and the sentences under it."""
    budget = "no limit" if rules["budget"] is None else exact(rules["budget"])
    known = [entry["feature"] for entry in rules["features"] if entry["known"]]
    said = [f"Model {name}, {date}. {rules['root']['cases']:,} cases were judged. Budget: {budget}."]
    if known:
        said.append(f"Known from the start: {', '.join(known)}.")
    if rules.get("stop"):
        said.append(f"{rules['stop']} Probabilities are not on this card: ask the model whether that is so.")
    skip = "skip what is known, cannot be had or costs more than the money that is left"
    if rules["is_panel"]:
        said.append(f"One plan for everybody: measure in this order; {skip}.")
    else:
        said.append(
            f"Start at 0 and do what the box says; {skip}. A question that cannot be asked is replaced by its list."
        )
    if any(entry["group"] >= 0 for entry in rules["features"]):
        said.append("Of a group the first is paid in full, the others at their reduced price.")
    return f"Which measurement next, for {rules['target']}?", said


def price_table(rules: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the prices, with panels and groups where there are any."""
    header = ["feature", "price", "after another of its group", "group", "comes with", "then follow", "note"]
    rows = []
    for entry in rules["features"]:
        note = "known from the start" if entry["known"] else "cannot be had" if entry["unavailable"] else ""
        group = entry["group"]
        rows.append(
            [
                entry["feature"],
                exact(entry["price"]),
                exact(entry["price_in_group"]) if group >= 0 else "",
                group_letter(group) if group >= 0 else "",
                ", ".join(name for name in entry["reveals"] if name != entry["feature"]),
                ", ".join(entry["follows"]),
                note,
            ]
        )
    kept = [i for i in range(len(header)) if i < 2 or any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def card_html(rules: Mapping[str, Any], name: str = "", date: str = "") -> str:
    """The card as one HTML page.

    Parameters
    ----------
    rules : mapping
        What `get_rules()` made.
    name, date : str, default=""
        What the model is called and when the card was made.
    """
    title, said = card_head(rules, name, date)
    lines = card_lines(rules)
    header, rows = price_table(rules)
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in header)
    table = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    size = max(6.0, min(12.0, 12.0 * 44 / max(44, 2 * len(lines) + len(rows))))
    sentences = "".join(f"<p class='soft'>{escape(one)}</p>" for one in said)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_CSS.replace('SIZE', f'{size:.1f}')}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>{sentences}<h2>What to measure</h2>{card_list(rules)}"
        f"<h2>Prices</h2><table><thead><tr>{head}</tr></thead><tbody>{table}</tbody></table></main></body></html>\n"
    )


def card_list(rules: Mapping[str, Any]) -> str:
    """The tree of the card as a nested HTML list."""
    body, depth = [], -1
    for line in card_lines(rules):
        if line.depth > depth:
            body.append("<ol>" * (line.depth - depth))
        else:
            body.append("</li>" + "</ol></li>" * (depth - line.depth))
        depth = line.depth
        body.append(f"<li data-node='{line.number}'>{_item(line)}")
    return "".join([*body, "</li></ol>" * (depth + 1)])


def _item(line: Line) -> str:
    when = f"<p class='when'>{escape(line.when)}</p>" if line.when else ""
    do = f"<p class='do'><span class='no'>{line.number}</span>{escape(sentence(line))}</p>"
    return f"{when}{do}<p class='soft'>{escape(line.people)}</p>"


def sentence(line: Line) -> str:
    """What a box says."""
    listed = ", ".join(line.plan)
    spare = f" Where something cannot be had or money is left: {', '.join(line.spare)}." if line.spare else ""
    if line.first:
        instead = ", ".join((*line.plan, *line.spare))
        return f"Ask {line.first}." + (f" If that is not possible: {instead}, then stop." if instead else "")
    return (f"Measure {listed}, then stop." if listed else "Stop.") + spare


@dataclass(frozen=True)
class Piece:
    """A text at a place, in points from the top left corner."""

    x: float
    y: float
    size: float
    bold: bool
    text: str


@dataclass(frozen=True)
class Sheet:
    """An A4 page: texts, and lines (x1, y1, x2, y2)."""

    texts: tuple[Piece, ...]
    strokes: tuple[tuple[float, float, float, float], ...]


def lay_out(rules: Mapping[str, Any], name: str = "", date: str = "") -> Sheet:
    """The card on one sheet; the type is as large as lets everything fit."""
    size = 10.0
    while True:
        sheet, bottom = _placed(rules, name, date, size)
        if bottom <= HEIGHT - MARGIN or size <= 1.5:
            return sheet
        size *= 0.93


def _placed(rules: Mapping[str, Any], name: str, date: str, size: float) -> tuple[Sheet, float]:
    texts: list[Piece] = []
    strokes: list[tuple[float, float, float, float]] = []
    title, said = card_head(rules, name, date)
    y = MARGIN

    def write(text: str, x: float, scale: float = 1.0, bold: bool = False) -> None:
        nonlocal y
        letters = max(12, int((WIDTH - MARGIN - x) / (0.52 * size * scale)))
        for row in wrap(text, letters) or [""]:
            y += 1.32 * size * scale
            texts.append(Piece(x, y, size * scale, bold, row))

    write(title, MARGIN, 1.4, True)
    for one in said:
        write(one, MARGIN, 0.9)
    y += 0.8 * size
    began: dict[int, float] = {}
    for line in card_lines(rules):
        x = MARGIN + 1.6 * size * line.depth
        y += 0.35 * size
        if line.depth:
            strokes.append((x - 0.9 * size, began[line.depth - 1], x - 0.9 * size, y + size))
            strokes.append((x - 0.9 * size, y + size, x - 0.2 * size, y + size))
        if line.when:
            write(line.when, x, 1.0, True)
        write(f"[{line.number}] {sentence(line)}", x)
        write(line.people, x, 0.85)
        began[line.depth] = y
    y += 0.8 * size
    write("Prices", MARGIN, 1.1, True)
    write("; ".join(_priced(entry) for entry in rules["features"]) + ".", MARGIN, 0.85)
    return Sheet(tuple(texts), tuple(strokes)), y


def _priced(entry: Mapping[str, Any]) -> str:
    """A feature and what it costs, in words."""
    more = ["known from the start"] if entry["known"] else ["cannot be had"] if entry["unavailable"] else []
    if entry["group"] >= 0:
        more.append(f"{exact(entry['price_in_group'])} after another of group {group_letter(entry['group'])}")
    others = [name for name in entry["reveals"] if name != entry["feature"]]
    more += [f"comes with {', '.join(others)}"] if others else []
    more += [f"then follow {', '.join(entry['follows'])}"] if entry["follows"] else []
    return f"{entry['feature']} {exact(entry['price'])}" + (f" ({'; '.join(more)})" if more else "")


def card_svg(rules: Mapping[str, Any], name: str = "", date: str = "") -> str:
    """The card as one A4 page in SVG; arguments as those of `card_html`."""
    sheet = lay_out(rules, name, date)
    title = card_head(rules, name, date)[0]
    strokes = "".join(
        f"<path d='M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}' stroke='#555' stroke-width='0.8'/>" for a, b, c, d in sheet.strokes
    )
    texts = "".join(
        f"<text x='{one.x:.1f}' y='{one.y:.1f}' font-size='{one.size:.2f}'{_weight(one.bold)}>{escape(one.text)}</text>"
        for one in sheet.texts
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='210mm' height='297mm' viewBox='0 0 {WIDTH:g} {HEIGHT:g}' "
        f"role='img' aria-label='{escape(title, quote=True)}' font-family='Helvetica, Arial, sans-serif'>"
        f"<title>{escape(title)}</title><rect width='100%' height='100%' fill='#fff'/>{strokes}{texts}</svg>\n"
    )


def card_pdf(rules: Mapping[str, Any], path: str | os.PathLike[str], name: str = "", date: str = "") -> None:
    """Write the card as a PDF of one A4 page; other arguments as those of `card_html`."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    sheet = lay_out(rules, name, date)
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
    FigureCanvasPdf(figure)
    for x1, y1, x2, y2 in sheet.strokes:
        ends = ([x1 / WIDTH, x2 / WIDTH], [1 - y1 / HEIGHT, 1 - y2 / HEIGHT])
        figure.add_artist(Line2D(*ends, color="#555555", linewidth=0.8))
    for one in sheet.texts:
        figure.text(
            one.x / WIDTH, 1 - one.y / HEIGHT, one.text.replace("$", r"\$"), fontsize=one.size,
            fontweight="bold" if one.bold else "normal",
        )  # fmt: skip
    title = card_head(rules, name, date)[0]
    figure.savefig(path, format="pdf", metadata={"Title": title, "CreationDate": None, "Producer": None})


def _weight(bold: bool) -> str:
    return " font-weight='bold'" if bold else ""


def write_card(rules: Mapping[str, Any], path: Any, suffix: str, name: str, date: str) -> None:
    """Write the card in the format of its suffix: .html, .svg, .pdf or .json (the rules themselves)."""
    from synafa.files import atomic_path, write_json, write_text

    if suffix == ".json":
        write_json(path, dict(rules))
    elif suffix == ".pdf":
        with atomic_path(path) as temporary:
            card_pdf(rules, temporary, name, date)
    else:
        write_text(path, (card_html if suffix == ".html" else card_svg)(rules, name, date))


SUFFIXES: Sequence[str] = (".html", ".svg", ".pdf", ".json")
