"""The demonstration as lines on a terminal, as JSON values, and as one page: the story first, then the proof."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from synafa.demo.heart import KNOWN, MEANINGS
from synafa.demo.rule import RULE
from synafa.demo.story import BUDGETS, DEARER, Story
from synafa.demo.walk import Step, bill, told
from synafa.money import amount
from synafa.proof.page import report_sections
from synafa.report.card import card_list
from synafa.report.page import Section, page, paragraphs, table_html

if TYPE_CHECKING:
    from rich.console import Console

NAMES = {
    "model": "the model",
    "its fixed panel": "its fixed panel: one list of tests for everybody",
    "panel, logistic regression": "fixed panel by logistic regression",
    "CART of the same depth": "decision tree (CART) of the same depth",
    "all features": "every test for everybody",
    "nothing": "no test at all",
}
TITLE = "Heart disease: which test next, and when is it enough?"


def opening(story: Story) -> str:
    """What the table is about."""
    errors, prices = story.clinic.errors.matrix, story.clinic.prices.price
    sick = int((story.clinic.disease == "yes").sum())
    n = len(story.clinic.disease)
    return (
        f"{n} patients of a heart clinic, {sick} of them with heart disease. Age and sex are known; nine other things "
        f"can be asked or measured, for {amount(prices.min())} to {amount(prices.max())}. A disease that is missed "
        f"costs {errors[1, 0]:g}, a false alarm {errors[0, 1]:g}, in the same money."
    )


def patient_words(step: Step) -> str:
    """Who the patient is."""
    known = step.answer.observed
    return f"A patient: {', '.join(f'{name} {known[name]}' for name in KNOWN)}."


def closing(steps: Sequence[Step]) -> str:
    """What the patient's tests cost in all."""
    paid = bill(steps)
    if not paid:
        return "Nothing was paid."
    return f"Paid {amount(steps[-1].paid)} in all: {', '.join(f'{name} {amount(cost)}' for name, cost in paid)}."


def dear_words(story: Story) -> str:
    """Why there is a second walk."""
    return (
        f"The same patient if every error cost {DEARER} times as much, as an example of how the answer follows the "
        "money (the prices of the tests stay):"
    )


def comparison_rows(story: Story) -> list[list[str]]:
    """One row a method: tests, errors, both together with the interval, and how well it tells the two apart."""
    rows = []
    for curve in story.found["curves"]:
        paid, cost, area = curve["paid"]["mean"], curve["cost"], curve["auroc"]["mean"]
        both = f"{amount(cost['mean'])} [{amount(cost['low'])}, {amount(cost['high'])}]"
        method = NAMES.get(curve["method"], curve["method"])
        rows.append([method, amount(paid), amount(cost["mean"] - paid), both, f"{area:.2f}"])
    return rows


COMPARISON = ["", "tests", "errors", "both [95 % interval]", "AUROC"]
NOTE = (
    f"Means over patients whom the models had not seen (five folds), with at most {BUDGETS[0]:g} for tests. The model "
    "and its fixed panel know what errors cost; the others count information or right answers, and stop by that. The "
    "decision tree and every test for everybody pay no heed to the budget. AUROC says how well sick and healthy are "
    "ranked: 0.5 by chance, 1 perfectly."
)


def print_story(story: Story, console: Console) -> None:
    """The story on a terminal."""
    from rich.table import Table

    def say(text: str = "", **more: Any) -> None:
        console.print(text, markup=False, **more)

    say(opening(story))
    for heading, steps in ((patient_words(story.steps[0]), story.steps), (dear_words(story), story.dear_steps)):
        say()
        say(heading, style="bold")
        for i, lines in enumerate(told(steps), start=1):
            say(f"  {i}. " + "\n     ".join(lines))
        say(f"  {closing(steps)}")
    say()
    say("What a patient costs on average", style="bold")
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(COMPARISON):
        table.add_column(name, justify="right" if i else "left")
    for row in comparison_rows(story):
        table.add_row(*row, style="bold" if row[0] == NAMES["model"] else "")
    console.print(table)
    say(NOTE)
    for line in verdicts(story):
        say(line)
    say(f"Is it worth letting results decide what comes next? {story.found['adaptivity']['sentence']}")


def verdicts(story: Story) -> list[str]:
    """What the model saves against each other method, in words."""
    lines = story.verdicts()
    for method, name in NAMES.items():
        lines = [line.replace(f"Against {method}:", f"Against {name.partition(':')[0]}:") for line in lines]
    return lines


def values(story: Story) -> dict[str, Any]:
    """The story as JSON values; `report` is what `synafa report` gives."""
    return {
        "patient": [{"said": one.answer.to_dict(), "result": one.result, "paid": one.paid} for one in story.steps],
        "patient_if_errors_were_dearer": [
            {"said": one.answer.to_dict(), "result": one.result, "paid": one.paid} for one in story.dear_steps
        ],
        "saved_a_patient": {name: saved.to_dict() for name, saved in story.savings().items()},
        "report": story.found,
    }


def story_page(story: Story) -> str:
    """One page: the clinic, the patient, the card, the comparison, then everything that `synafa report` shows."""
    intro = (
        f"{opening(story)}\n\nA model has learnt from this table which test to do next for a patient, and when nothing "
        "more is worth its price. It knows only these patients: a demonstration, not a device for treating anyone."
    )
    sections = [
        Section("What can be asked, and what it costs", _prices(story)),
        Section("One patient, step by step", _walked(patient_words(story.steps[0]), story.steps)),
        Section(f"If errors cost {DEARER} times as much", _walked(dear_words(story), story.dear_steps)),
        Section("The whole model on one card", _cards(story)),
        Section("What a patient costs, against simpler things", _comparison(story)),
        *report_sections(story.found, story.proof),
        Section("Where the table comes from", paragraphs(SOURCE)),
    ]
    return page(TITLE, intro, sections)


SOURCE = (
    "Heart Disease (Cleveland) by A. Janosi, W. Steinbrunn, M. Pfisterer and R. Detrano, UCI Machine Learning "
    "Repository, doi 10.24432/C52P4X, licence CC BY 4.0; changed: two columns without a published price are left out, "
    "codes are written as words. Prices and costs of errors as listed in S. Lomax's thesis (2013), after P. Turney. "
    "LICENSE-heart.txt, beside this page, says more."
)


def _prices(story: Story) -> str:
    prices = story.clinic.prices
    rows = []
    for j, name in enumerate(prices.feature_names):
        price = "known" if name in KNOWN else amount(prices.price[j])
        if prices.group[j] >= 0:
            others = [o for k, o in enumerate(prices.feature_names) if prices.group[k] == prices.group[j] and k != j]
            price += f"; {amount(prices.price_in_group[j])} after {' or '.join(others)}"
        rows.append([name, MEANINGS.get(name, ""), price])
    return table_html(["name", "what it is", "price"], rows)


def _walked(heading: str, steps: Sequence[Step]) -> str:
    items = []
    for lines in told(steps):
        first, *rest = lines
        more = "".join(f"<br>{escape(line)}" for line in rest)
        items.append(f"<li><strong>{escape(first)}</strong>{more}</li>")
    return f"{paragraphs(heading)}<ol class='steps'>{''.join(items)}</ol>{paragraphs(closing(steps))}"


def _cards(story: Story) -> str:
    note = (
        "What the models do, for everybody. As pages that can be printed and followed by hand, these are card.html and "
        "card-dear-errors.html, beside this page."
    )
    shown = (("At the published costs of errors", story.model), (f"If errors cost {DEARER} times as much", story.dear))
    drawn = [f"<div class='card'><h3>{title}</h3>{card_list(model.get_rules())}</div>" for title, model in shown]
    return f"{paragraphs(note)}<div class='pair'>{''.join(drawn)}</div>"


def _comparison(story: Story) -> str:
    said = "".join(f"<li>{escape(line)}</li>" for line in verdicts(story))
    about = (
        f"{RULE} is the rule of the study that this package comes from: it buys what tells most in bits and takes one "
        "price a test. CART is the usual decision tree; it knows no prices."
    )
    table = table_html(COMPARISON, comparison_rows(story), "What a patient costs on average")
    return f"{paragraphs(NOTE)}{table}<ul>{said}</ul>{paragraphs(about)}"
