"""How the shared classifier of each dataset is trained: the published table, and what the smaller profiles cut.

`standard` is the published table with MiniBooNE's 1,000 epochs cut to 100 (the others take seconds to two minutes on
one core); `quick` stops after about 600 steps and is for tests only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError

PROFILES = ("paper", "standard", "quick")
_QUICK_STEPS = 600


@dataclass(frozen=True)
class MLPConfig:
    """Settings of the masked MLP.

    Attributes
    ----------
    epochs, batch, dropout, learning_rate, hidden : as usual; two hidden layers of the same width
    lo, hi : each batch draws one p ~ U(lo, hi) and hides every entry independently with probability p
    """

    epochs: int = 100
    batch: int = 128
    dropout: float = 0.1
    lo: float = 0.0
    hi: float = 0.9
    hidden: int = 128
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        if not (0 <= self.lo <= self.hi < 1):
            raise SynafaError(f"Hiding probabilities must satisfy 0 <= lo <= hi < 1, got: lo={self.lo}, hi={self.hi}.")
        if not 0 <= self.dropout < 1:
            raise SynafaError(f"`dropout` must lie in [0, 1), got: {self.dropout}.")
        if min(self.epochs, self.batch, self.hidden) < 1:
            raise SynafaError("`epochs`, `batch` and `hidden` of the masked MLP must be at least 1.")


PUBLISHED = {
    "ckd": MLPConfig(epochs=100, batch=64, dropout=0.2),
    "actg175": MLPConfig(epochs=100, batch=64, dropout=0.2),
    "physionet": MLPConfig(epochs=100),
    "bank": MLPConfig(epochs=300),
    "miniboone": MLPConfig(epochs=1000),
    "synergy-sweep": MLPConfig(epochs=100),
    "fixed-v": MLPConfig(epochs=100),
    "mnist-loop": MLPConfig(epochs=60, lo=0.75, hi=0.99),
}


def config_for(dataset: Dataset, profile: str = "paper") -> MLPConfig:
    """The settings of a dataset's shared classifier; a dataset outside the table gets those of PhysioNet."""
    if profile not in PROFILES:
        raise SynafaError(f"`profile` must be one of {', '.join(PROFILES)}, got: {profile!r}.")
    config = PUBLISHED.get(dataset.name, MLPConfig())
    if profile == "standard":
        return replace(config, epochs=100) if dataset.name == "miniboone" else config
    if profile == "quick":
        steps = -(-len(dataset.train) // config.batch)
        return replace(config, epochs=min(config.epochs, max(2, _QUICK_STEPS // max(steps, 1))))
    return config
