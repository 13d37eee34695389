"""
A clinic's table with prices
============================

303 patients, eleven things that can be asked or measured, one question: heart disease or not? Some answers cost 1, some
a hundred. Here a model learns which ones to get for whom, answers for one patient, and is judged on patients that it
has not seen.

The table and its prices come with the package (*Heart Disease, Cleveland*, UCI repository, CC BY 4.0, with published
prices; ``LICENSE-heart.txt`` beside the files says more).
"""

# %%
# The table and the price list
# ----------------------------
# ``read_table`` reads CSV and Parquet; empty cells stay empty. The price list has a line for each measurement. The
# highest heart rate and the thallium scan come from one exercise test: once one of them was paid, the other costs 1.

from synafa import AcquisitionClassifier, ErrorCosts, PlanTree, PriceList
from synafa.datasets.embedded import embedded_path
from synafa.table.reading import read_table, split_target

table, disease = split_target(read_table(embedded_path("heart-words")), "disease")
prices = PriceList.from_csv(embedded_path("heart-words-prices"), table.columns)
for name, price, later in zip(prices.feature_names, prices.price, prices.price_in_group):
    reduced = f", then {later:.2f}" if later < price else ""
    print(f"{name:13} {price:7.2f}{reduced}")

# %%
# Learn a model
# -------------
# Age and sex are known when the patient walks in. Beyond that, 250 may be spent. The model is a policy (what next, and
# when to stop) and a predictor (how probable is each class from whatever is known) in one object, and one file.

KNOWN = ["age", "sex"]
model = AcquisitionClassifier(PlanTree(budget=250, prices=prices))
model.fit(table, disease, known=KNOWN, target="disease")
print("one plan for everybody" if model.policy_.tree_.is_panel else f"{model.policy_.tree_.n_leaves} plans in a tree")

# %%
# One patient
# -----------
# Tell what is known, measure what is proposed, tell the result, ask again. The answer has fields (``probabilities``,
# ``decision``, ``recommendation``, ``outcomes``), and ``text`` says the same in words.

patient = {"age": 54, "sex": "male"}
results = {
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
while True:
    answer = model.next_feature(patient)
    print(answer.text, end="\n\n")
    feature = answer.recommendation.feature
    if feature is None:
        break
    patient[feature] = results[feature]

# %%
# What errors cost
# ----------------
# A budget says how much may be spent. Error costs say what it may be spent *for*: here a missed disease costs 531 and a
# false alarm 455, in the money of the prices. The model then stops where no test is expected to save its price. With
# errors ten times as dear, more tests pay.

errors = ErrorCosts.from_csv(embedded_path("heart-words-errors"), ["no", "yes"])
for times in (1, 10):
    dear = ErrorCosts(errors.classes, times * errors.matrix)
    weighing = AcquisitionClassifier(PlanTree(budget=None, prices=prices, error_costs=dear))
    weighing.fit(table, disease, known=KNOWN, target="disease")
    end = weighing.predict_one(results.get, {"age": 54, "sex": "male"})
    bought = [name for name in end.observed if name not in KNOWN]
    print(f"errors x {times}: {', '.join(bought)}\n{end.text}\n")

# %%
# What it costs, and what it is worth
# -----------------------------------
# ``prove`` judges every patient by models that have not seen them, here at a budget of 250, and sets simpler things
# beside the model. ``synafa report`` writes the same as a page.

from synafa.proof.findings import findings
from synafa.proof.prove import Settings, prove
from synafa.proof.table import ProofTable

proof = prove(ProofTable.of(table, disease, target="disease"), Settings((250.0,), prices, None, tuple(KNOWN)))
found = findings(proof)
print(found["adaptivity"]["sentence"], end="\n\n")
for curve in found["curves"]:
    accuracy, paid = curve["accuracy"], curve["paid"]["mean"]
    interval = f"[{accuracy['low']:.0%}, {accuracy['high']:.0%}]"
    print(f"{curve['method']:27} {paid:7.2f} a patient, {accuracy['mean']:.0%} {interval} right")

# %%
# The model on one page
# ---------------------
# A box is a measurement, an arrow a result. ``graph.to_html()`` gives a page to zoom and print, ``to_svg()`` the
# picture alone, ``to_json()`` the same for a program; ``synafa card`` writes the model as a page to follow by hand.


class Picture:
    """Shows an SVG on this page."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_html_(self):
        return self.svg


Picture(model.decision_graph().to_svg("Which measurement next, for heart disease?"))
