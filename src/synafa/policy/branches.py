"""The reasons of a step of SynAFA, by number."""

from __future__ import annotations

# "single": its information alone; "conditional": its information given one observed
# value; "pair": started a pair that is informative together; "fallback": the policy had stopped, the harness went on.
BRANCHES = ("single", "conditional", "pair", "fallback")
SINGLE, CONDITIONAL, PAIR, FALLBACK = range(4)
