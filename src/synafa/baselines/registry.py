"""The nine published policies, thirteen with their variants, as one table: a method is one file, a variant one line.

Nothing here imports torch, so the table can be listed without the `neural` extra.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import ModuleType
from typing import Any

from synafa.errors import MissingExtraError, SynafaError

PROFILE_NAMES = ("paper", "standard", "quick")


@dataclass(frozen=True)
class Baseline:
    """One line of the registry.

    Attributes
    ----------
    name : what `train` and the command line take
    title, paper, kind : for people
    greedy : True when it looks one acquisition ahead only, False when it plans further
    where : `module:Class` inside `synafa.baselines`
    per_budget : True when the budget enters training (one model per budget)
    needs_classifier : True when the policy asks the shared classifier
    options : settings that make this line a variant of its class, as (field, value) pairs
    trained : False when `fit` only keeps the training rows, so that there is nothing worth caching
    revision : raised when a profile trains differently than before; stored results of the study then no longer count
    """

    name: str
    title: str
    paper: str
    kind: str
    greedy: bool
    where: str
    per_budget: bool = False
    needs_classifier: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    trained: bool = True
    revision: int = 1

    @property
    def module_path(self) -> str:
        return f"synafa.baselines.{self.where.split(':')[0]}"

    def module(self) -> ModuleType:
        """The method's module, imported now; a missing torch is said in one sentence."""
        try:
            return importlib.import_module(self.module_path)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "torch":
                raise MissingExtraError("torch", "neural") from error
            raise

    def cls(self) -> Any:
        """The method's class."""
        return getattr(self.module(), self.where.split(":")[1])

    def settings(self, profile: str, dataset: Any = None) -> Any:
        """The settings of a profile with this line's options, adapted to `dataset` if one is given."""
        if profile not in PROFILE_NAMES:
            raise SynafaError(f"Unknown profile {profile!r}; choose one of {', '.join(PROFILE_NAMES)}.")
        settings = replace(self.cls().profiles[profile], **dict(self.options))
        return settings if dataset is None else settings.adapted(dataset)

    def as_row(self) -> dict[str, Any]:
        """The line as plain values, for `--json` and tables."""
        row = asdict(self)
        row["options"] = dict(self.options)
        return row


_ENTRIES = (
    Baseline("aaco", "AACO", "Valancius et al. 2024", "nearest-neighbour oracle", False, "aaco:AACO", needs_classifier=True, trained=False),  # noqa: E501
    Baseline("aaco-original", "AACO (k = 20, 1,000 fresh masks)", "Valancius et al. 2024", "nearest-neighbour oracle", False, "aaco:AACO", needs_classifier=True, options=(("neighbours", 20), ("masks", 1000), ("fresh", True)), trained=False),  # noqa: E501
    Baseline("permutation", "Permutation importance", "Breiman 2001", "static ranking", True, "permutation:PermutationImportance", revision=3),  # noqa: E501
    Baseline("cae", "CAE", "Balin et al. 2019", "static, concrete selector", False, "cae:CAE", per_budget=True, revision=4),  # noqa: E501
    Baseline("gdfs", "GDFS", "Covert et al. 2023", "learned greedy selector", True, "gdfs:GDFS", per_budget=True, revision=5),  # noqa: E501
    Baseline("dime", "DIME", "Gadgil et al. 2024", "mutual information by regression", True, "dime:DIME", per_budget=True, revision=5),  # noqa: E501
    Baseline("jafa", "JAFA", "Shim et al. 2018", "reinforcement learning (DQN)", False, "jafa:JAFA", per_budget=True, revision=3),  # noqa: E501
    Baseline("ol-with-mask", "OL with mask", "Kachuee et al. 2019", "reinforcement learning (DQN)", False, "ol:OL", per_budget=True, options=(("with_mask", True),), revision=5),  # noqa: E501
    Baseline("ol-without-mask", "OL without mask", "Kachuee et al. 2019", "reinforcement learning (DQN)", False, "ol:OL", per_budget=True, options=(("with_mask", False),), revision=5),  # noqa: E501
    Baseline("eddi", "EDDI", "Ma et al. 2019", "generative, expected information", True, "eddi:EDDI", needs_classifier=True, options=(("builtin", False),), revision=4),  # noqa: E501
    Baseline("eddi-builtin", "EDDI (its own classifier)", "Ma et al. 2019", "generative, expected information", True, "eddi:EDDI", options=(("builtin", True),), revision=4),  # noqa: E501
    Baseline("odin-model-based", "ODIN, model-based", "Zannone et al. 2019", "reinforcement learning (PPO)", False, "odin:ODIN", per_budget=True, options=(("model_based", True),), revision=4),  # noqa: E501
    Baseline("odin-model-free", "ODIN, model-free", "Zannone et al. 2019", "reinforcement learning (PPO)", False, "odin:ODIN", per_budget=True, options=(("model_based", False),), revision=4),  # noqa: E501
)  # fmt: skip

REGISTRY: Mapping[str, Baseline] = {entry.name: entry for entry in _ENTRIES}


def find(name: str) -> Baseline:
    """The registry's line for `name`."""
    if name not in REGISTRY:
        raise SynafaError(f"Unknown baseline {name!r}; choose one of {', '.join(REGISTRY)}.")
    return REGISTRY[name]
