"""The demonstration's clinic: 303 patients, what can be asked or measured at which price, and what errors cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synafa.datasets.embedded import embedded_path
from synafa.money import ErrorCosts, PriceList
from synafa.table.reading import read_table, split_target

if TYPE_CHECKING:
    import polars as pl

TARGET = "disease"
KNOWN = ("age", "sex")  # on the patient's sheet before anything is asked

# An invented patient: what every question would be answered with.
PATIENT: dict[str, str | float] = {
    "age": 54,
    "sex": "male",
    "pain": "asymptomatic",
    "sugar": "normal",
    "ecg": "hypertrophy",
    "heart_rate": 130,
    "exercise_pain": "present",
    "st_depression": 1.8,
    "st_slope": "flat",
    "vessels": 1,
    "thallium": "reversible",
}
MEANINGS = {
    "pain": "kind of chest pain",
    "sugar": "fasting blood sugar, high above 120 mg/dl",
    "ecg": "electrocardiogram at rest",
    "heart_rate": "highest heart rate of an exercise test",
    "exercise_pain": "chest pain brought on by exercise",
    "st_depression": "ST depression brought on by exercise",
    "st_slope": "slope of the ST segment at the peak of exercise",
    "vessels": "vessels coloured by fluoroscopy, 0 to 3",
    "thallium": "thallium scan: normal, fixed or reversible defect",
}
FILES = {
    "heart.csv": "heart-words",
    "prices.csv": "heart-words-prices",
    "errors.csv": "heart-words-errors",
    "LICENSE-heart.txt": "LICENSE-heart.txt",
}


@dataclass(frozen=True, eq=False)
class Clinic:
    """The table and its money.

    features : polars DataFrame, 303 rows; disease : "yes" or "no" of each
    prices, errors : PriceList, ErrorCosts
    """

    features: pl.DataFrame
    disease: np.ndarray
    prices: PriceList
    errors: ErrorCosts


def clinic() -> Clinic:
    """The embedded table in words, its prices and error costs."""
    features, disease = split_target(read_table(embedded_path(FILES["heart.csv"])), TARGET)
    prices = PriceList.from_csv(embedded_path(FILES["prices.csv"]), features.columns, known=KNOWN)
    return Clinic(features, disease, prices, ErrorCosts.from_csv(embedded_path(FILES["errors.csv"]), ["no", "yes"]))
