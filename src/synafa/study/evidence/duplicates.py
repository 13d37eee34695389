"""Numbers that the paper prints more than once: which place stands for all of them, so that each is counted once.

`AACO at the lowest budget of CKD` is in two tables of differences and again in a summary; agreeing with it three times
is one agreement. The place that stands for a number is the one that prints most decimals.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from synafa.study.evidence.names import BUDGETS, TITLES, budgets_of
from synafa.study.evidence.paper import paper_table

Place = tuple[str, str, str]

_BUDGETS = {TITLES[name]: budgets for name, budgets in BUDGETS.items()}
_IMAGES = budgets_of("mnist-loop")
_SEARCHED = {name: _BUDGETS.get(name, _IMAGES) for name in ("MNIST-loop", "PhysioNet", "MiniBooNE", "MNIST-90")}
_ALPHAS = ("0", "0.25", "0.5", "0.75", "1")


def counted_as(place: Place) -> Place:
    """The place that stands for the number printed at `place`; most numbers stand for themselves.

    >>> counted_as(("broad-endpoints", "CKD", "AACO low"))
    ('v1-headline', 'CKD / 2', 'AACO')
    """
    followed = _twins()
    while place in followed:
        place = followed[place]
    return place


@cache
def _twins() -> dict[Place, Place]:
    return dict(_pairs())


def _pairs() -> Iterator[tuple[Place, Place]]:
    """(a place, the place that prints the same number more finely or first)."""
    yield from _benchmark()
    yield from _sweeps()
    yield from _searches()
    yield from _images()


def _benchmark() -> Iterator[tuple[Place, Place]]:
    for title, budgets in _BUDGETS.items():
        for method in ("AACO", "CAE"):
            for at, word in ((0, "low"), (-1, "high")):
                place = ("v1-headline", f"{title} / {budgets[at]}", method)
                yield ("broad-endpoints", title, f"{method} {word}"), place
    for budget in _BUDGETS["MiniBooNE"]:
        for method in ("AACO", "CAE", "Permutation"):
            finer = ("miniboone-classifier-realignment", f"{method} / {budget}", "original")
            yield ("miniboone-full", method, f"{budget}"), finer
            if method != "Permutation":
                yield ("v1-headline", f"MiniBooNE / {budget}", method), finer
    for title, label in (("PhysioNet", "physionet-clean"), ("BankMarketing", "bankmarketing-full")):
        for budget in _BUDGETS[title]:
            for method in ("AACO", "CAE"):
                yield (label, method, f"{budget}"), ("v1-headline", f"{title} / {budget}", method)
    for title in ("CKD", "ACTG175"):
        for method in ("AACO", "CAE"):
            for budget, word in zip(_BUDGETS[title], ("low", "mid", "high")):
                yield ("ckd-actg", f"{title} / {method}", word), ("v1-headline", f"{title} / {budget}", method)
    for budget in (5, 10, 15):
        yield ("physionet-summary", f"{budget}", "mean"), ("physionet-clean", "Mean", f"{budget}")
    for budget in (5, 10):  # at 15 the paper's two counts differ
        for what in ("wins", "ties", "losses"):
            place = ("pair-off-real", f"PhysioNet / {budget}", f"{what} deployed")
            yield ("physionet-summary", f"{budget}", what), place
    closed = ("miniboone-classifier-realignment", "Mean", "closed percent")
    yield ("appendix-collapse", "closed percent", "value"), closed
    largest = ("pair-off-real", "PhysioNet / 5", "effect")
    yield ("appendix-pair-off", "PhysioNet largest accuracy change", "value"), largest


def _sweeps() -> Iterator[tuple[Place, Place]]:
    dose = "synergy-dose-response"
    for alpha in _ALPHAS:
        for budget in (3, 5):
            yield ("synergy-budget-mask-sensitivity", alpha, f"{budget} deployed"), (dose, alpha, f"{budget}")
        for budget in (3, 5, 8):
            yield ("pair-off-alpha", alpha, f"{budget} deployed"), (dose, alpha, f"{budget}")
    for budget in (3, 5):
        for rule in ("deployed", "masked"):
            place = ("synergy-budget-mask-sensitivity", "1", f"{budget} {rule}")
            yield ("feasibility-main", f"{budget}", rule), place
    yield ("feasibility-main", "8", "deployed"), (dose, "1", "8")
    yield ("appendix-alpha-interval", "8 / 1", "value"), (dose, "1", "8")
    for budget in (3, 5, 8):
        yield ("pair-off-alpha", "corr", f"{budget} deployed"), (dose, "corr", f"{budget}")
        yield ("appendix-correlations", f"alpha sweep / {budget}", "mean"), (dose, "corr", f"{budget}")
    for realised, target in (("0.512", "0.52"), ("0.644", "0.65"), ("0.776", "0.78"), ("0.896", "0.9"), ("1", "1")):
        yield ("pair-off-fixedv", realised, "deployed"), ("fixed-v-full-significance", target, "mean")
    whole = ("appendix-correlations", "fixed-V / 8", "mean")
    yield ("pair-off-fixedv", "corr", "deployed"), whole
    yield ("appendix-harness", "fixed-V correlation corrected", "value"), whole
    yield ("appendix-correlations", "fixed-V / 8", "lowest"), ("appendix-fixed-v-instances", "0", "value")
    yield ("appendix-correlations", "fixed-V / 8", "highest"), ("appendix-fixed-v-instances", "4", "value")
    yield ("appendix-pair-off", "8 off correlation", "value"), ("pair-off-alpha", "corr", "8 off")
    yield ("appendix-pair-off", "fixed-V off correlation", "value"), ("pair-off-fixedv", "corr", "off")


def _searches() -> Iterator[tuple[Place, Place]]:
    for title, budgets in _SEARCHED.items():
        rows = title.replace("MNIST-90", "MNIST-loop")
        for budget in budgets:
            row = f"{title} / {budget}"
            yield ("objective-alignment", row, "n"), ("local-search-generalization", row, "n")
            yield ("local-search-generalization", row, "n"), ("dataset-overview", rows, "n")
            if title == "MNIST-90":
                continue
            yield ("failure-summary", row, "dAcc"), ("local-search-generalization", row, "dAcc")
            for column in ("mean dU", "rho"):
                yield ("failure-summary", row, column), ("objective-alignment", row, column)
    ends = {
        ("Pearson", "low"): ("PhysioNet / 10", "rho"),
        ("Pearson", "high"): ("MNIST-loop / 10", "rho"),
        ("mean dU", "low"): ("MiniBooNE / 5", "mean dU"),
        ("mean dU", "high"): ("MNIST-loop / 5", "mean dU"),
        ("P(dU>0)", "low"): ("MiniBooNE / 5", "P(dU>0)"),
        ("P(dU>0)", "high"): ("PhysioNet / 15", "P(dU>0)"),
    }
    for (row, side), (setting, column) in ends.items():
        yield ("appendix-alignment", row, side), ("objective-alignment", setting, column)


def _images() -> Iterator[tuple[Place, Place]]:
    for budget in (5, 10, 20):
        row = f"0.001 / {budget}"
        for method in ("AACO", "CAE", "Permutation"):
            yield ("mnist-summary", method, f"{budget}"), ("lambda-mnist", row, method)
        accuracy = ("lambda-mnist", row, "accuracy")
        yield ("d784-full", "36000 corrected", f"{budget}"), accuracy
        yield ("appendix-mnist-controls", "adaptive", f"{budget}"), accuracy
    yield ("local-search-progression", "12000", "adaptive"), ("lambda-mnist", "0.001 / 20", "accuracy")


def all_places() -> list[Place]:
    """Every printed number's place."""
    from synafa.study.evidence.paper import paper_labels

    return [(label, row, column) for label in paper_labels() for row, column in paper_table(label).cells]
