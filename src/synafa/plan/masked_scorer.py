"""Scores the package's own predictors: cells are expanded once, and a state is a block of rows side by side.

Every part of the rows has its own predictor of several small networks and perhaps a linear member. Rows of one part are
put into blocks, so that a block has one set of weights; a predictor without the linear member, or with fewer networks
than another, has weights of 0 in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synafa.plan.parts import Features, Parts, flat, part_numbers
from synafa.predictor.basis import WIDTH
from synafa.predictor.model import MaskedPredictor

BLOCK = 32  # rows in a block
_MOST_BYTES = 600_000_000  # of expanded cells


@dataclass(frozen=True, eq=False)
class Blocks:
    """The hidden states of some rows.

    Attributes
    ----------
    order : int64 (m,), positions of the rows, those of a part together
    start : int64 (B + 1,), where each block starts in `order`
    part : int64 (B,), the part of each block
    hidden : float32 (B, H, BLOCK)
    """

    order: np.ndarray
    start: np.ndarray
    part: np.ndarray
    hidden: np.ndarray


class MaskedScorer:
    """`MaskedPredictor`s; every part of the rows has its own."""

    def __init__(self, parts: Parts, values: np.ndarray) -> None:
        predictors: list[MaskedPredictor] = [predictor for predictor, _ in parts]
        first = predictors[0]
        heads, basis = [predictor.heads for predictor in predictors], first.basis
        n, d = values.shape
        nets, (size, width), k = max(len(h.second) for h in heads), first.heads.second.shape[1:], first.n_classes
        hidden, slots = nets * size + k, max(len(p.slot_weights) for p in predictors)
        self._part = part_numbers(parts, n)
        self._place = np.zeros(d, dtype=np.int64)  # of a number column among them; a text column -1, -2, ...
        self._place[basis.numbers], self._place[basis.texts] = (
            np.arange(len(basis.numbers)),
            ~np.arange(len(basis.texts)),
        )
        self._base = np.zeros((len(parts), hidden), dtype=np.float32)
        self._numbers = np.zeros((len(parts), len(basis.numbers), WIDTH, hidden), dtype=np.float32)
        self._slot_weights = np.zeros((len(parts), slots, hidden), dtype=np.float32)
        self._second = np.zeros((len(parts), nets, size, width), dtype=np.float32)
        self._second_bias = np.zeros((len(parts), nets, width), dtype=np.float32)
        self._output = np.zeros((len(parts), nets, width, k), dtype=np.float32)
        self._output_bias = np.zeros((len(parts), nets, k), dtype=np.float32)
        self._weight = np.zeros((nets + 1, len(parts)), dtype=np.float32)
        self._cells = np.empty((n, len(basis.numbers), WIDTH), dtype=np.float32)
        self._slots = np.empty((n, len(basis.texts)), dtype=np.int64)
        for number, (predictor, rows) in enumerate(parts):
            head, own = predictor.heads, len(predictor.heads.second)
            at = np.concatenate([np.arange(own * size), nets * size + np.arange(k)])[: predictor.n_hidden]
            self._base[number, at] = predictor.base
            self._numbers[number][:, :, at] = predictor.number_weights
            self._slot_weights[number][: len(predictor.slot_weights), at] = predictor.slot_weights
            self._second[number, :own], self._second_bias[number, :own] = head.second, head.second_bias
            self._output[number, :own], self._output_bias[number, :own] = head.output, head.output_bias
            self._weight[:own, number], self._weight[nets, number] = head.weight[:own], head.weight[own]
            there = ~np.isnan(values[rows])
            self._cells[rows] = predictor.basis.expand(values[rows], there)
            self._slots[rows] = predictor.basis.slots(values[rows], there)
        if not self._weight[nets].any():
            self._weight = self._weight[:nets]
        self.n_classes, self.chunk, self.group = k, 1024, 4096

    def open(self, features: Features, rows: np.ndarray) -> Blocks:
        from synafa.plan.masked_kernels import open_blocks

        part = self._part[rows]
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(self._base)))
        pieces = [np.arange(a, b, BLOCK) for a, b in zip([0, *ends[:-1]], ends)]
        start = np.concatenate([*pieces, ends[-1:]])
        of_block = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
        chosen = np.asarray(features, dtype=np.int64)
        hidden = open_blocks(rows[order], start, of_block, self._base, chosen, *self._contributing())
        return Blocks(order, start, of_block, hidden)

    def proba(self, state: Blocks, rows: np.ndarray, more: Features = ()) -> np.ndarray:
        return self.sweep(state, rows, [more])[:, 0].T

    def sweep(self, state: Blocks, rows: np.ndarray, more: Sequence[Features]) -> np.ndarray:
        from synafa.plan.masked_kernels import block_logits

        added, start = flat(more)
        heads = self._second, self._second_bias, self._output, self._output_bias
        logits = block_logits(
            state.hidden, rows[state.order], state.order, state.start, state.part, added, start, *heads,
            len(self._weight), *self._contributing(),
        )  # fmt: skip
        proba = np.exp(logits, out=logits)  # (members, K, C, m)
        proba *= (self._weight[:, self._part[rows]][:, None] / proba.sum(axis=1))[:, None]
        mean = proba.sum(axis=0)
        mean /= mean.sum(axis=0)
        return mean

    def _contributing(self) -> tuple[np.ndarray, ...]:
        return self._place, self._cells, self._slots, self._numbers, self._slot_weights


def fits(parts: Parts, values: np.ndarray) -> bool:
    """Whether predictors have networks of one size and the expanded cells find room."""
    sizes = {predictor.heads.second.shape[1:] for predictor, _ in parts}
    return len(sizes) == 1 and values.size * WIDTH * 4 <= _MOST_BYTES
