"""
A clinic's table with prices
============================

303 patients, eleven measurements, one question: heart disease or not? Some measurements cost a dollar, some a hundred.
Here a model learns which ones to take for whom, answers for one patient, and draws its whole policy on one page.

The table and its prices come with the package (Cleveland heart disease, prices published with it; see
``LICENSE-heart.txt`` beside the files).
"""

# %%
# The table and the price list
# ----------------------------
# ``read_table`` reads CSV and Parquet; empty cells stay empty. The price list has a line for each measurement. ``thal``
# and ``thalach`` form a group: once one of them was paid, the other costs 1.

import numpy as np

from synafa import SynAFA
from synafa.datasets.embedded import embedded_path
from synafa.money import PriceList
from synafa.table.reading import read_table, split_target

table, disease = split_target(read_table(embedded_path("heart")), "disease")
prices = PriceList.from_csv(embedded_path("heart-prices"), table.columns)
for name, price in zip(prices.feature_names, prices.price):
    print(f"{name:8} {price:7.2f}")

# %%
# Learn a policy
# --------------
# Age, sex and the kind of chest pain are known when the patient walks in. Beyond that, 250 may be spent.
# ``cost_weight`` says how many bits of information a dollar must bring: with prices in the hundreds it has to be small,
# or nothing pays. ``SynAFA`` takes one price a measurement, so the discount within the group is not used here.

costs = dict(zip(prices.feature_names, prices.price))
policy = SynAFA(budget=250, costs=costs, cost_weight=0.0002)
policy.fit(table, disease, known=["age", "sex", "pain"], target="heart disease")
print(policy.next_feature({"age": 54, "sex": 1, "pain": 4}).text)

# %%
# One patient
# -----------
# Tell what is known, measure what is proposed, tell the result, ask again. A proposal is an object with fields
# (``feature``, ``cost``, ``why``, ``information``, ``remaining``), and ``text`` says the same in a sentence.

known = {"age": 54, "sex": 1, "pain": 4}
results = {"thal": 7, "fca": 1, "exang": 1, "oldpeak": 1.8, "slope": 2, "thalach": 130, "restecg": 2, "fbs": 0}
while True:
    answer = policy.next_feature(known)
    print(answer.text)
    if answer.feature is None:
        break
    known[answer.feature] = results[answer.feature]

# %%
# What it costs, and what it is worth
# -----------------------------------
# A predictor that works with any subset of the measurements says how often the class is right after what was bought.
# Every patient is judged by a policy and a predictor that have not seen them (five folds). The same predictor with all
# measurements, and with the three things that are known anyway, is shown beside it.

from sklearn.model_selection import StratifiedKFold

from synafa.predictor import fit_predictor

y = np.unique(disease, return_inverse=True)[1]
spent, right = np.zeros(len(y)), {"nothing bought": [], "this policy": [], "everything bought": []}
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(table, y):
    fold = SynAFA(budget=250, costs=costs, cost_weight=0.0002)
    fold.fit(table[train], y[train], known=["age", "sex", "pain"])
    values = fold.encode(table[test])
    predictor = fit_predictor(fold.encode(table[train]), y[train], 2)
    run = fold.acquire(table[test])
    spent[test] = run.cost
    known_only = np.tile(fold.rule_.known, (len(test), 1))
    for name, mask in zip(right, (known_only, run.mask, np.ones_like(run.mask))):
        right[name].extend(predictor.predict_proba(values, mask).argmax(axis=1) == y[test])
everything = prices.price.sum() - sum(costs[name] for name in ("age", "sex", "pain"))
for (name, hits), price in zip(right.items(), (0.0, spent.mean(), everything)):
    print(f"{name:17} {price:7.2f} a patient, {sum(hits)} of {len(y)} right ({np.mean(hits):.1%})")

# %%
# The policy on one page
# ----------------------
# A box is a measurement, an arrow a result. ``graph.to_html()`` gives a page to zoom and print, ``to_svg()`` the
# picture alone, ``to_json()`` the same for a program.


class Picture:
    """Shows an SVG on this page."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_html_(self):
        return self.svg


graph = policy.decision_graph(max_depth=3, min_share=0.03)
Picture(graph.to_svg("Which measurement next, for heart disease?"))
