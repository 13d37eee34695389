"""What the study calls its datasets and methods in tables and figures, and the hard budgets of each dataset."""

from __future__ import annotations

from synafa.datasets.registry import FILES

ALL_TITLES = {
    "ckd": "CKD",
    "actg175": "ACTG175",
    "bank": "BankMarketing",
    "physionet": "PhysioNet",
    "miniboone": "MiniBooNE",
    "mnist-loop": "MNIST-loop",
}
TITLES = {name: title for name, title in ALL_TITLES.items() if name != "mnist-loop"}  # without the images
NAMES = {
    "aaco": "AACO",
    "permutation": "Permutation",
    "cae": "CAE",
    "gdfs": "GDFS",
    "dime": "DIME",
    "jafa": "JAFA",
    "ol-with-mask": "OL (with mask)",
    "ol-without-mask": "OL (without mask)",
    "eddi": "EDDI",
    "eddi-builtin": "EDDI, own classifier",
    "odin-model-based": "ODIN",
    "odin-model-free": "ODIN, model-free",
}


def budgets_of(dataset: str) -> tuple[int, ...]:
    """The study's hard budgets of a dataset, which are whole numbers.

    >>> budgets_of("physionet")
    (5, 10, 15)
    """
    return tuple(int(budget) for budget in FILES[dataset].budgets)


BUDGETS = {name: budgets_of(name) for name in TITLES}
