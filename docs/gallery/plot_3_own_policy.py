"""
Your own policy against published ones
======================================

A policy is any object with one method, ``propose``. Here is one of ten lines, put through the study's hard-budget
harness beside published policies, with paired intervals. To keep this page quick, the published ones are trained in the
profile ``quick``: their numbers here show how to do it, not how good they are.
"""

# %%
# The task
# --------
# CUBE: 20 features, eight classes, three bits of the class spread over different features for different classes, so
# that it pays to look at results before asking on.

import numpy as np
import polars as pl

from synafa.datasets import load
from synafa.evaluation import Evaluation
from synafa.evaluation.policies import build_policies
from synafa.predictor import fit_predictor

data = load("cube", noise=0.1, n=1000)
print(data.key, data.X.shape, "classes:", data.n_classes)

# %%
# The judge
# ---------
# All policies are judged by the same classifier, which takes any subset of the features. The study uses a masked
# network; the package's own predictor needs no torch.


class Judge:
    """The predictor as the harness wants it."""

    def __init__(self, predictor):
        self.predictor = predictor

    def predict_proba(self, values, mask):
        return self.predictor.predict_proba(np.asarray(values, dtype=np.float64), mask)


judge = Judge(fit_predictor(data.X[data.train], data.y[data.train], data.n_classes))

# %%
# Your policy
# -----------
# ``propose(values, mask, remaining)`` gets all rows at once: what is known (``mask``), the values there, and the money
# left. It answers with one feature a row, or -1 to stop. This one looks at the two classes that are likeliest so far
# and asks for the feature whose training means differ most between them.


class TellApart:
    """Ask for the feature whose mean differs most between the two likeliest classes."""

    uses_remaining = False

    def __init__(self, judge, X, y):
        self.judge = judge
        self.means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
        self.spread = X.std(axis=0)

    def propose(self, values, mask, remaining):
        likeliest = np.argsort(-self.judge.predict_proba(values, mask), axis=1)[:, :2]
        gap = np.abs(self.means[likeliest[:, 0]] - self.means[likeliest[:, 1]]) / self.spread
        gap[mask] = -1.0
        return gap.argmax(axis=1)


# %%
# One harness for all
# -------------------

budgets = (3.0, 5.0)
published = build_policies(
    ["plan-tree", "synafa", "aaco", "permutation", "static-single", "random"], data, budgets, judge, profile="quick"
)
policies = {"tell-apart": TellApart(judge, data.X[data.train], data.y[data.train]), **published}
evaluation = Evaluation(policies, data, judge, budgets)
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3, tbl_rows=20):
    print(evaluation.table().select("policy", "budget", "accuracy", "balanced_accuracy", "log_loss", "mean_cost"))

# %%
# Paired differences, tell-apart minus each of the others, on the same test rows, with 95 % bootstrap intervals. They
# cover the choice of test rows, not the training of the judge.

table = evaluation.compare("tell-apart")
columns = ["against", "budget", "accuracy_difference", "accuracy_low", "accuracy_high", "accuracy_pvalue"]
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3, tbl_rows=20):
    print(table.select(columns))
