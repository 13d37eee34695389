"""The campaigns by name, and their sizes."""

from __future__ import annotations

from tests.faults import arguments, models, money, plan_models, results, streams, tables
from tests.faults.campaign import Campaign

CAMPAIGNS = (
    Campaign("model files, damaged bytes", models.attempt_bytes, 60, 1500),
    Campaign("model files, signed nonsense", models.attempt_contents, 100, 3000),
    Campaign("plan trees and predictors, signed nonsense", plan_models.attempt, 30, 1000),
    Campaign("tables, odd cells and names", tables.attempt_cells, 80, 2000),
    Campaign("tables, damaged bytes", tables.attempt_bytes, 80, 2000),
    Campaign("tables, read as streams", streams.attempt, 40, 1000),
    Campaign("price lists and error costs", money.attempt, 150, 3000),
    Campaign("arguments", arguments.attempt, 80, 1500),
    Campaign("results of the study", results.attempt, 25, 500),
)
