"""A first stage of training that does not look at the budget, done once for all budgets: same weights, same draws.

A stage is known by everything that it starts from: its rows and settings, the module's weights and torch's generator
on entry. Whoever enters with the same gets the module and the generator as they were on leaving, so that what follows
is, bit for bit, what would have followed. It is stored beside the trained models; without a folder it is just done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from synafa.baselines.common import Rows, load_module, module_arrays
from synafa.baselines.training import save_state, stored_state
from synafa.files import content_hash
from synafa.neural.resume import resume_folder

_GENERATOR = "generator"
REVISION = 2  # raised when a first stage is trained differently than before


def first_stage(name: str, module: nn.Module, rows: Rows, settings: Any, train: Callable[[], None]) -> None:
    """Call `train`, which trains `module` on `rows`; or take what an earlier call with the same start ended with."""
    folder = resume_folder()
    if folder is None:
        train()
        return
    path = folder / f"stage-{name}-{_start(module, rows, settings)}.safetensors"
    stored = stored_state(path)
    if stored is not None:
        arrays, _ = stored
        torch.set_rng_state(torch.from_numpy(arrays.pop(_GENERATOR)))
        load_module(module, arrays)
        module.eval()
        return
    train()
    save_state(path, {**module_arrays(module), _GENERATOR: torch.get_rng_state().numpy()}, {"stage": name})


def _start(module: nn.Module, rows: Rows, settings: Any) -> str:
    """A hash of everything that the stage starts from."""
    digest = hashlib.sha256()
    parts = [rows.x, rows.y, rows.x_validation, rows.y_validation, torch.get_rng_state()]
    for part in (*parts, *module.state_dict().values()):
        digest.update(str((part.dtype, tuple(part.shape))).encode())
        digest.update(part.detach().contiguous().numpy().tobytes())
    return content_hash([REVISION, digest.hexdigest(), asdict(settings)])
