"""SynAFA's rule in the same proof: fitted on the same folds, judged by predictors of the same rows, same prices.

The rule takes one price a feature and knows nothing of error costs; it stops where a measurement of average price
brings less than 0.01 bits. What it asked for is then paid by the price list with its reduced prices.
"""

from __future__ import annotations

import numpy as np

from synafa.plan.inputs import Fitter, Training
from synafa.policy.synafa import SynAFA
from synafa.proof.kept import KeptFits
from synafa.proof.prove import Judged, Proof

RULE = "SynAFA's rule"
LEAST_BITS = 0.01  # that a measurement of average price must bring


def judge_rule(proof: Proof, kept: KeptFits) -> None:
    """Add the rule's held-out rows to a proof, at every budget; `kept` holds the predictors of the proof's folds."""
    table, prices, settings = proof.table, proof.prices, proof.settings
    n, d = table.features.shape
    fitter = Fitter.of(kept, None if proof.errors is None else proof.errors.matrix)
    for budget in proof.budgets:
        proof.judged[RULE, budget] = Judged.empty(n, table.n_classes, d)
    for fold in np.unique(proof.fold):
        rest, held = np.flatnonzero(proof.fold != fold), np.flatnonzero(proof.fold == fold)
        for budget in proof.budgets:
            policy = _rule(proof, budget).fit(table.features[rest], table.y[rest], known=settings.known)
            categories = [len(column.categories) for column in policy.encoder_.columns_]
            seen = policy.encode(table.features[rest])
            predictor = fitter.on(Training(seen, table.y[rest], table.n_classes, categories, None, settings.seed), None)
            rows = table.features[held]
            run = policy.acquire(rows)
            paid = [prices.cost_of([int(j) for j in order if j >= 0]) for order in run.order]
            proba = predictor.predict_proba(policy.encode(rows), run.mask)
            proof.judged[RULE, budget].put(held, proba, paid, run.n_acquired, run.mask)


def _rule(proof: Proof, budget: float) -> SynAFA:
    costs = np.where(proof.known, 0.0, proof.prices.price)
    return SynAFA(
        budget=min(float(budget), float(costs.sum())),
        costs=costs,
        cost_weight=LEAST_BITS / float(costs[costs > 0].mean()),
    )
