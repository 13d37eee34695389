"""SynAFA, and any policy here, in the shape of AFABench's methods, and that benchmark's methods and tensors in ours.

A method answers `act(masked_features, feature_mask, ...)` with an integer tensor (batch, 1): 0 stops, i acquires the
feature i - 1; `predict` gives class probabilities. `MethodAdapter` turns a policy into a method, `PolicyFromMethod` a
method into a policy, `read_dataset` the benchmark's tensors into a `Dataset` (`torch.load(weights_only=True)`, which
executes nothing).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import MissingExtraError, SynafaError
from synafa.files import write_json
from synafa.model.storage import load_model, save_model
from synafa.money.prices import TOLERANCE

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:  # pragma: no cover - the extra is there wherever this is tested
    raise MissingExtraError("torch", "neural") from error

PathLike = str | os.PathLike[str]


class MethodAdapter:
    """A policy of this library as a method of the benchmark.

    Parameters
    ----------
    policy : anything with `propose(values, mask, remaining)`
    classifier : anything with `predict_proba(values, mask)`; needed by `predict` only
    costs : D costs, all 1 if not given
    budget : hard budget; None leaves the spending to the benchmark
    force_acquisition : replace a stop by the lowest-index feature that is hidden and affordable
    """

    def __init__(
        self,
        policy: Any,
        classifier: Any = None,
        costs: np.ndarray | None = None,
        budget: float | None = None,
        force_acquisition: bool = False,
    ) -> None:
        self.policy = policy
        self.classifier = classifier
        self.costs = self._costs(costs)
        self.budget = budget
        self.force_acquisition = force_acquisition
        self.seed: int | None = None
        self._device = torch.device("cpu")

    def act(
        self,
        masked_features: Tensor,
        feature_mask: Tensor,
        selection_mask: Tensor | None = None,
        label: Tensor | None = None,
        feature_shape: torch.Size | None = None,
    ) -> Tensor:
        """int64 (batch, 1): 0 to stop, i to acquire feature i - 1. The label is never looked at.

        selection_mask : True where a selection was made before; such a feature is not asked for again
        """
        values, mask = _flat(masked_features, feature_mask)
        taken = mask if selection_mask is None else mask | _selections(selection_mask, mask.shape)
        costs = np.ones(mask.shape[1]) if self.costs is None else self.costs
        limit = np.inf if self.budget is None else float(self.budget)
        remaining = limit - np.where(taken, costs, 0.0).sum(1)
        choice = np.asarray(self.policy.propose(values, taken, remaining), dtype=np.int64)
        open_ = ~taken & (costs <= remaining[:, None] + TOLERANCE)
        refused = (choice >= 0) & ~open_[np.arange(len(choice)), np.maximum(choice, 0)]
        choice = np.where(refused, -1, choice)
        if self.force_acquisition:
            choice = np.where((choice < 0) & open_.any(1), open_.argmax(1), choice)
        return torch.from_numpy(choice[:, None] + 1).to(self._device)

    def predict(
        self, masked_features: Tensor, feature_mask: Tensor, label: Tensor | None = None, feature_shape: Any = None
    ) -> Tensor:
        """Class probabilities, float32 (batch, K)."""
        if self.classifier is None:
            raise SynafaError("This method was given no classifier; pass classifier=... to predict with it.")
        values, mask = _flat(masked_features, feature_mask)
        return torch.from_numpy(np.array(self.classifier.predict_proba(values, mask), np.float32)).to(self._device)

    @property
    def device(self) -> torch.device:
        """Where answers are put; decisions are made in main memory."""
        return self._device

    def to(self, device: torch.device | str) -> Self:
        self._device = torch.device(device)
        return self

    def set_seed(self, seed: int | None) -> None:
        """Kept for the record: no policy here draws anything when it acts."""
        self.seed = seed

    def set_cost_param(self, cost_param: float) -> None:
        """Only SynAFA weighs cost at decision time."""
        raise SynafaError(f"{type(self.policy).__name__} has no cost parameter that could be set after training.")

    def save(self, path: PathLike) -> None:
        """Write the policy, and a masked MLP as its classifier, into the folder `path`."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self._save_policy(folder)
        if self.classifier is not None:
            if not hasattr(self.classifier, "layers"):
                raise SynafaError("Only a masked MLP can be saved as a method's classifier.")
            self.classifier.save(folder / "classifier.safetensors")
        write_json(
            folder / "method.json",
            {
                "costs": None if self.costs is None else self.costs.tolist(),
                "budget": self.budget,
                "force_acquisition": self.force_acquisition,
            },
        )

    @classmethod
    def load(cls, path: PathLike, device: torch.device | str = "cpu") -> Self:
        """Read what `save` wrote."""
        folder = Path(path)
        classifier, rest = _load_rest(folder)
        return cls(cls._load_policy(folder, classifier), classifier, **rest).to(device)

    def _costs(self, given: np.ndarray | None) -> np.ndarray | None:
        return None if given is None else np.asarray(given, dtype=np.float64)

    def _save_policy(self, folder: Path) -> None:
        """A trained baseline, in its own format."""
        from synafa.baselines.training import save

        save(self.policy, folder / "policy.safetensors")

    @staticmethod
    def _load_policy(folder: Path, classifier: Any) -> Any:
        from synafa.baselines.training import load

        return load(folder / "policy.safetensors", classifier=classifier)


class SynAFAMethod(MethodAdapter):
    """SynAFA as a method of the benchmark; costs are those it was fitted with."""

    def _costs(self, given: np.ndarray | None) -> np.ndarray:
        if not hasattr(self.policy, "rule_"):
            raise SynafaError("The SynAFA policy is not fitted yet; call fit first.")
        return np.asarray(self.policy.rule_.costs if given is None else given, dtype=np.float64)

    def set_cost_param(self, cost_param: float) -> None:
        """The bits one unit of cost must promise (lambda)."""

        if not cost_param >= 0:
            raise SynafaError(f"The cost parameter must be 0 or more, got: {cost_param}.")
        self.policy.cost_weight = float(cost_param)
        self.policy.rule_ = self.policy.rule_.with_cost_weight(float(cost_param))

    def _save_policy(self, folder: Path) -> None:
        save_model(self.policy, folder / "policy.synafa")

    @staticmethod
    def _load_policy(folder: Path, classifier: Any) -> Any:
        return load_model(folder / "policy.synafa")


class PolicyFromMethod:
    """A method of the benchmark as a policy (and classifier) here; what is not affordable becomes a stop."""

    uses_remaining = True

    def __init__(self, method: Any, costs: np.ndarray | None = None, name: str = "") -> None:
        self.method = method
        self.costs = costs
        self.name = name or type(method).__name__

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """int64 (n,), -1 for stop."""
        seen, known = self._tensors(values, mask)
        with torch.no_grad():
            answer = self.method.act(seen, known, selection_mask=known, feature_shape=seen.shape[1:])
        choice = answer.reshape(-1).cpu().numpy().astype(np.int64) - 1
        costs = np.ones(known.shape[1]) if self.costs is None else self.costs
        return np.where((choice >= 0) & (costs[np.maximum(choice, 0)] > remaining + TOLERANCE), -1, choice)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities, float32 (n, K)."""
        seen, known = self._tensors(values, mask)
        with torch.no_grad():
            return self.method.predict(seen, known).cpu().numpy().astype(np.float32)

    def _tensors(self, values: np.ndarray, mask: np.ndarray) -> tuple[Tensor, Tensor]:
        """Values and mask as the method takes them."""
        arrays = np.array(values, dtype=np.float32), np.array(mask, dtype=bool)
        seen, known = (torch.from_numpy(array).to(self.method.device) for array in arrays)
        return seen, known


def read_tensors(path: PathLike) -> tuple[np.ndarray, np.ndarray]:
    """Features float32 (n, D) and classes int64 (n,) of a file holding the tensors `features` and `labels`.

    Features of any shape are flattened; labels may be indices or one-hot rows.
    """
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises a different class for each way a file can be bad
        raise SynafaError(f"{path} is not a file of plain tensors ({type(error).__name__}); save it with torch.save as a dict of tensors.") from error  # fmt: skip  # noqa: E501
    if not isinstance(stored, dict) or not {"features", "labels"} <= stored.keys():
        raise SynafaError(f"{path} does not hold the tensors 'features' and 'labels'.")
    features, labels = stored["features"], stored["labels"]
    if len(features) != len(labels):
        raise SynafaError(f"{path} holds {len(features)} rows of features and {len(labels)} labels.")
    labels = labels.argmax(1) if labels.ndim == 2 else labels
    return features.reshape(len(features), -1).float().numpy(), labels.long().numpy()


def read_dataset(
    train: PathLike,
    validation: PathLike,
    test: PathLike,
    name: str,
    costs: np.ndarray | None = None,
    budgets: tuple[float, ...] = (),
    instance: int = 0,
) -> Dataset:
    """The benchmark's three splits as one `Dataset`."""
    parts = [read_tensors(path) for path in (train, validation, test)]
    X = np.concatenate([features for features, _ in parts])
    y = np.concatenate([labels for _, labels in parts])
    ends = np.cumsum([len(labels) for _, labels in parts])
    first, second, third = np.split(np.arange(len(y), dtype=np.int64), ends[:2])
    d = X.shape[1]
    price = np.ones(d) if costs is None else np.asarray(costs, dtype=np.float64)
    if price.shape != (d,):
        raise SynafaError(f"{name} has {d} features, but {price.size} costs were given.")
    names = tuple(f"x{i}" for i in range(d))
    return Dataset(name, instance, X, y, names, price, tuple(budgets), first, second, third, source="AFABench tensors")


def _flat(features: Tensor, mask: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """float32 (n, D), 0 where hidden, and bool (n, D)."""
    known = mask.detach().cpu().reshape(len(mask), -1).bool().numpy()
    values = features.detach().cpu().reshape(len(features), -1).float().numpy()
    return np.where(known, values, np.float32(0.0)), known


def _selections(selection_mask: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """The selections already made; one selection is one feature here."""
    made = selection_mask.detach().cpu().reshape(len(selection_mask), -1).bool().numpy()
    if made.shape != shape:
        raise SynafaError(
            f"Selections must be single features: got a selection mask {made.shape} for {shape} features."
        )
    return made


def _load_rest(folder: Path) -> tuple[Any, dict[str, Any]]:
    import json

    from synafa.neural.masked_mlp import MaskedMLP

    try:
        rest = json.loads((folder / "method.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise SynafaError(f"{folder} holds no saved method (method.json is missing).") from error
    stored = folder / "classifier.safetensors"
    return (MaskedMLP.load(stored) if stored.exists() else None), rest
