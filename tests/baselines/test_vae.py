"""The partial VAE: its sum over observed positions, its embeddings, and what it learns."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from synafa.baselines.common import rows_of, training
from synafa.baselines.layers import as_one_vector
from synafa.baselines.partial_vae import REMEMBERED, PartialVAE, PosteriorMean, VAESettings, fit_vae, shared_vae
from synafa.baselines.partial_vae_gradient import LossGradient
from tests.baselines import acquisition_tasks as tasks

pytestmark = pytest.mark.slow

SHORT = VAESettings(max_batches=500, first_check=200, vae_patience=5)


def _quiet(share: float, text: str) -> None:
    pass


@pytest.fixture(scope="module")
def vae() -> PartialVAE:
    with training(0):
        return fit_vae(rows_of(tasks.branch()), SHORT, _quiet)


def test_the_last_layer_may_be_applied_to_the_sum() -> None:
    torch.manual_seed(0)
    model = PartialVAE(VAESettings(), 5, 2)
    values, mask = torch.randn(8, 5), torch.rand(8, 5) < 0.6
    slow = torch.zeros(8, 20)
    for row in range(8):
        for i in mask[row].nonzero()[:, 0]:
            slow[row] += model.second(torch.relu(model.first(values[row, i] * model.embedding[i])))
    fast = model.gather(values, mask) @ model.second.weight.T + mask.sum(1, keepdim=True) * model.second.bias
    assert torch.allclose(fast, slow, atol=1e-5)


def test_embeddings_stay_within_norm_one(vae: PartialVAE) -> None:
    assert float(vae.embedding.norm(dim=1).max()) <= 1 + 1e-5


def test_hidden_values_do_not_reach_the_latent(vae: PartialVAE) -> None:
    mask = torch.rand(10, 6) < 0.5
    values = torch.randn(10, 6)
    assert torch.equal(vae.encode(values, mask)[0], vae.encode(torch.where(mask, values, 7.0), mask)[0])


def test_it_classifies_and_reconstructs_what_it_sees(vae: PartialVAE) -> None:
    rows = rows_of(tasks.branch())
    x, y = rows.x_validation, rows.y_validation
    mean, _ = vae.encode(x, torch.ones_like(x, dtype=torch.bool))
    assert (vae.classifier(mean).argmax(1) == y).float().mean() > 0.95
    # x0 is shared by half the classes and comes back; independent noise features are not compressible in this time.
    assert (vae.decoder(mean) - x)[:, 0].square().mean() < 0.1 * x[:, 0].var()


def test_policies_with_the_same_settings_share_one_vae() -> None:
    task = tasks.decisive()
    tiny = replace(SHORT, max_batches=3)
    one = shared_vae(task, rows_of(task), tiny, 0, _quiet)
    assert shared_vae(task, rows_of(task), tiny, 0, _quiet) is one
    assert shared_vae(tasks.decisive(), rows_of(task), tiny, 0, _quiet) is one  # the same content, loaded again
    assert shared_vae(task, rows_of(task), tiny, 1, _quiet) is not one
    assert shared_vae(tasks.branch(), rows_of(tasks.branch()), tiny, 0, _quiet) is not one


def test_the_oldest_vae_is_forgotten_first() -> None:
    task = tasks.decisive()
    tiny = replace(SHORT, max_batches=3)
    first = shared_vae(task, rows_of(task), tiny, 100, _quiet)
    for seed in range(101, 100 + REMEMBERED):
        shared_vae(task, rows_of(task), tiny, seed, _quiet)
    assert shared_vae(task, rows_of(task), tiny, 100, _quiet) is first
    shared_vae(task, rows_of(task), tiny, 200, _quiet)  # pushes seed 101 out
    shared_vae(task, rows_of(task), tiny, 101, _quiet)  # and this one 102
    assert shared_vae(task, rows_of(task), tiny, 100, _quiet) is first


def some_rows(n: int, d: int, n_classes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Values, classes, masks that cover the class as well, and latent noise."""
    shown = torch.rand(n, d + n_classes) < 0.5
    return torch.randn(n, d), torch.randint(n_classes, (n,)), shown, torch.randn(n, VAESettings().latent)


def test_the_gathered_sum_and_its_gradient_are_those_of_autograd() -> None:
    torch.manual_seed(0)
    model = PartialVAE(VAESettings(), 7, 3)
    values, mask, upstream = torch.randn(9, 10), torch.rand(9, 10) < 0.5, torch.randn(9, 500)
    each = torch.relu(values[..., None] * model.directions() + model.first.bias)
    slow = (each * mask[..., None]).sum(1)
    fast = model.gather(values, mask)
    assert torch.allclose(fast, slow, atol=1e-5)
    parameters = [model.embedding, model.first.weight, model.first.bias]
    for one, two in zip(
        torch.autograd.grad(fast, parameters, upstream), torch.autograd.grad(slow, parameters, upstream)
    ):
        assert torch.allclose(one, two, rtol=1e-4, atol=1e-5)


def test_the_written_out_gradient_of_the_loss_is_that_of_autograd() -> None:
    torch.manual_seed(0)
    one, two = (PartialVAE(VAESettings(), 7, 3) for _ in range(2))
    with torch.no_grad():
        one.encoder[-1].bias[-5:] = 30.0  # beyond the bounds of the log variance, where it has no gradient
    two.load_state_dict(one.state_dict())
    as_one_vector(two)
    weights = torch.tensor([1.0, 2.5, 4.0])
    set_gradients = LossGradient(two, weights, 0.1)
    for n in (40, 13):
        x, y, mask, noise = some_rows(n, 7, 3)
        noise[:, -5:] *= 1e-4  # a standard deviation of e^10 would drown the rest
        one.zero_grad()
        one.loss(x, y, mask, weights, 0.1, noise).backward()
        set_gradients(torch.cat([x, torch.eye(3)[y]], dim=1), y, mask, noise)
        for (name, slow), fast in zip(one.named_parameters(), two.parameters()):
            assert torch.allclose(slow.grad, fast.grad, rtol=1e-3, atol=1e-4 * float(slow.grad.abs().max())), name


def test_the_means_alone_are_those_of_the_posterior(vae: PartialVAE) -> None:
    values, mask = torch.randn(10, 6), torch.rand(10, 6) < 0.5
    mean = PosteriorMean(vae)
    start = mean.start(values, mask)
    assert torch.allclose(mean(start), vae.encode(values, mask)[0], atol=1e-4)
    feature, x = (~mask).float().argmax(1), torch.randn(10, 3)
    more = mean(mean.extended(start, feature, x)).view(10, 3, -1)
    for sample in range(3):
        seen, known = values.clone(), mask.clone()
        hidden = ~mask[torch.arange(10), feature]
        seen[torch.arange(10), feature], known[torch.arange(10), feature] = x[:, sample], True
        assert torch.allclose(more[hidden, sample], vae.encode(seen, known)[0][hidden], atol=1e-4)
