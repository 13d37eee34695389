"""The shared classifier: one masked MLP per dataset that predicts the class from whatever is known.

Input [x*m, m] (2D) -> 128 -> 128 -> K; it is trained under random hiding and then serves every policy and every budget.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field

import numpy as np

from synafa.arrays import read_file, write_file
from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.neural.settings import MLPConfig, config_for
from synafa.neural.training import Progress, forward, one_thread, torch, train

FORMAT = "synafa-masked-mlp-1"
KIND = "masked MLP"
_NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")
_CHUNK = 8192  # rows per product: large enough to be fast, small enough to stay in the cache at D = 784


@dataclass(frozen=True, eq=False)
class MaskedMLP:
    """A trained masked MLP.

    Attributes
    ----------
    layers : w1 (128, 2D), b1, w2 (128, 128), b2, w3 (K, 128), b3, float32; the first D columns of w1 belong to the
        values, the others to the mask
    config, seed, dataset, profile : what it was trained with, on, and under which profile
    validation_losses : one per epoch; the lowest is the one kept
    """

    layers: tuple[np.ndarray, ...]
    config: MLPConfig
    seed: int
    dataset: str
    profile: str = "paper"
    validation_losses: tuple[float, ...] = ()
    _tensors: list[torch.Tensor] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tensors", [torch.from_numpy(np.array(layer, np.float32)) for layer in self.layers])

    @property
    def n_features(self) -> int:
        return self.layers[0].shape[1] // 2

    @property
    def n_classes(self) -> int:
        return len(self.layers[5])

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept, counted from 1."""
        return int(np.argmin(self.validation_losses)) + 1

    @classmethod
    def fit(
        cls,
        dataset: Dataset,
        config: MLPConfig | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        profile: str = "paper",
        mask_bank: np.ndarray | None = None,
    ) -> MaskedMLP:
        """Train on the dataset's training rows; `progress(share, text)` is called after every epoch.

        mask_bank : bool (m, D), masks to draw from in place of random hiding
        """
        config = config_for(dataset, profile) if config is None else config
        layers, losses = train(dataset, config, seed, progress, mask_bank)
        return cls(tuple(layers), config, seed, dataset.key, profile, tuple(losses))

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities, float32 (n, K), from values (n, D), 0 where hidden, and mask (n, D)."""
        values, mask = np.asarray(values), np.asarray(mask)
        if values.ndim != 2 or values.shape[1] != self.n_features or values.shape != mask.shape:
            raise SynafaError(
                f"The classifier of {self.dataset} needs values and mask of shape (n, {self.n_features}), "
                f"got: {values.shape} and {mask.shape}."
            )
        out = np.empty((len(values), self.n_classes), dtype=np.float32)
        d = self.n_features
        inputs = torch.empty((min(_CHUNK, len(values)), 2 * d))
        with one_thread(), torch.inference_mode():
            for start in range(0, len(values), _CHUNK):
                known = torch.from_numpy(np.asarray(mask[start : start + _CHUNK], dtype=bool))
                given = torch.from_numpy(np.ascontiguousarray(values[start : start + _CHUNK], dtype=np.float32))
                chunk = inputs[: len(known)]
                chunk[:, d:] = known
                torch.mul(given, known, out=chunk[:, :d])
                out[start : start + _CHUNK] = torch.softmax(forward(chunk, self._tensors), dim=1).numpy()
        return out

    def logits(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of tensors already on the device of choice, for baselines that call the classifier in bulk."""
        inputs = torch.cat([values * mask, mask.to(values.dtype)], dim=1)
        return forward(inputs, [layer.to(values.device) for layer in self._tensors])

    def save(self, path: str | os.PathLike[str], *, own: bool = False) -> None:
        """Write weights and settings as one safetensors file with a JSON header; `own` as in `atomic_path`."""
        arrays = dict(zip(_NAMES, self.layers))
        meta = {
            "format": FORMAT,
            "config": asdict(self.config),
            "seed": self.seed,
            "dataset": self.dataset,
            "profile": self.profile,
            "validation_losses": self.validation_losses,
        }
        write_file(path, KIND, arrays, meta, own=own)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MaskedMLP:
        """Read what `save` wrote; a foreign, older or altered file is an error that names it."""
        arrays, meta = read_file(path, KIND)
        if meta.get("format") != FORMAT or set(arrays) != set(_NAMES):
            found = meta.get("format", "no format")
            raise SynafaError(f"{os.fspath(path)!r} holds {found!r}, this version reads {FORMAT!r}; train it again.")
        return cls(
            layers=tuple(arrays[name] for name in _NAMES),
            config=MLPConfig(**meta["config"]),
            seed=meta["seed"],
            dataset=meta["dataset"],
            profile=meta["profile"],
            validation_losses=tuple(meta["validation_losses"]),
        )
