"""What a saved SynAFA of a very wide table must be: the rule with the entries that decisions can reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from synafa.model.schemas import BITS, LARGEST, MOST_FEATURES, RULE, RULE_ARRAYS, TRAINING
from synafa.model.validation import Array, InvalidModelError, Sizes, register, text, whole
from synafa.policy.reach import pair_scores


def _pairs_fit(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    first, second = arrays["pair_first"], arrays["pair_second"]
    if ((first >= second) | (second >= sizes["D"])).any():
        raise InvalidModelError("'pair_first' and 'pair_second' are not pairs of features")
    scores = pair_scores(arrays["pair_bits"], arrays["costs"], meta["cost_weight"], first, second)
    place = first.astype(np.int64) * sizes["D"] + second
    tied = scores[1:] == scores[:-1]
    if (scores[1:] > scores[:-1]).any() or (place[1:] <= place[:-1])[tied].any() or not (scores > 0).all():
        raise InvalidModelError("the pairs are not in the order of their scores")


def _cond_fits(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sizes: Sizes) -> None:
    start, feature = arrays["cond_start"], arrays["cond_feature"]
    if sizes["starts"] != sizes["D"] * sizes["bins"] + 1:
        raise InvalidModelError("'cond_start' does not fit the features and their bins")
    if start[0] != 0 or start[-1] != len(feature) or (np.diff(start) < 0).any():
        raise InvalidModelError("'cond_start' does not ascend to the number of entries")
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    if (feature >= sizes["D"]).any() or ((row[1:] == row[:-1]) & (feature[1:] <= feature[:-1])).any():
        raise InvalidModelError("'cond_feature' does not name features in ascending order")
    if meta["reach"] > sizes["D"]:
        raise InvalidModelError("'reach' exceeds the number of features")


register(
    "wide-policy",
    "rule",
    replace(
        RULE,
        arrays={
            **RULE_ARRAYS,
            "pair_first": Array("i4", ("pairs",), 0),
            "pair_second": Array("i4", ("pairs",), 0),
            "pair_bits": Array("f8", ("pairs",), **BITS),
            "cond_start": Array("i8", ("starts",), 0, LARGEST),
            "cond_feature": Array("i4", ("entries",), 0),
            "cond_bits": Array("f8", ("entries",), **BITS),
        },
        values={**RULE.values, "reach": whole(0, MOST_FEATURES), "kept": text()},
        checks=(*RULE.checks, _pairs_fit, _cond_fits),
    ),
)
register("wide-policy", "training", TRAINING)
