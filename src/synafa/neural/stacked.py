"""Several classifiers of one shape, asked at once: (n, D) values and masks -> (S, n, K) probabilities.

The first layers lie side by side and make one product of the shared input; the others are one batched product each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from synafa.errors import SynafaError
from synafa.neural.training import one_thread

_CHUNK = 4096


class StackedMLP:
    """Trained masked MLPs with the same layers, for example of several seeds.

    Parameters
    ----------
    models : sequence of MaskedMLP
        At least one; all with the same shapes.

    Raises
    ------
    SynafaError
        When there is none, or the shapes differ.
    """

    def __init__(self, models: Sequence[Any]) -> None:
        if not models:
            raise SynafaError("A stack needs at least one classifier.")
        shapes = {tuple(np.shape(layer) for layer in model.layers) for model in models}
        if len(shapes) > 1:
            raise SynafaError(f"Classifiers of different shapes cannot be stacked, got: {sorted(shapes)}.")
        self.models = tuple(models)
        stacked = [torch.from_numpy(np.stack([np.asarray(m.layers[i], np.float32) for m in models])) for i in range(6)]
        w1, b1, *rest = stacked
        self._first = w1.reshape(-1, w1.shape[2]).T.contiguous()  # (2D, S * h)
        self._bias = b1.reshape(-1)
        self._w2, self._b2, self._w3, self._b3 = rest

    def __len__(self) -> int:
        return len(self.models)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities of every classifier, float32 (S, n, K), from values (n, D), 0 where hidden, and mask."""
        parts = []
        with one_thread(), torch.no_grad():
            for start in range(0, max(len(mask), 1), _CHUNK):
                known = np.asarray(mask[start : start + _CHUNK], dtype=bool)
                seen = np.where(known, values[start : start + _CHUNK], 0)
                parts.append(self._probabilities(torch.from_numpy(np.hstack([seen, known]).astype(np.float32))))
        return np.concatenate(parts, axis=1)

    def _probabilities(self, inputs: torch.Tensor) -> np.ndarray:
        count, width = len(self.models), self._w2.shape[2]
        hidden = torch.addmm(self._bias, inputs, self._first).relu_()
        hidden = hidden.view(len(inputs), count, width).transpose(0, 1)
        second = torch.baddbmm(self._b2[:, None, :], hidden, self._w2.transpose(1, 2)).relu_()
        logits = torch.baddbmm(self._b3[:, None, :], second, self._w3.transpose(1, 2))
        return torch.softmax(logits, dim=2).numpy()
