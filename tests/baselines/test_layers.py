"""Layers without autograd: the same output and gradients, and parameters that live in one vector."""

from __future__ import annotations

import torch
from torch import nn

from synafa.baselines.common import adam, mlp
from synafa.baselines.layers import Layers, as_one_vector


def test_output_and_gradients_are_those_of_autograd() -> None:
    torch.manual_seed(0)
    network = mlp((5, 8, 7, 3))
    layers = Layers.of(network)
    for n in (20, 6, 31):  # buffers are kept, and grow
        x, upstream = torch.randn(n, 5, requires_grad=True), torch.randn(n, 3)
        expected = torch.autograd.grad(network(x), [x, *network.parameters()], upstream)
        with torch.no_grad():
            assert torch.allclose(layers.forward(x.detach()), network(x), atol=1e-6)
            flow = layers.backward(upstream)
        for one, two in zip([flow, *layers.flat_gradients()], expected):
            assert torch.allclose(one, two, atol=1e-5)


def test_an_output_survives_the_next_call() -> None:
    torch.manual_seed(0)
    layers = Layers.of(mlp((5, 8, 3)))
    first = layers.forward(torch.randn(4, 5))
    before = first.clone()
    layers.forward(torch.randn(4, 5))
    assert torch.equal(first, before)


def test_a_step_on_the_vector_is_a_step_on_every_parameter() -> None:
    torch.manual_seed(0)
    one, two = mlp((4, 6, 2)), mlp((4, 6, 2))
    two.load_state_dict(one.state_dict())
    whole = as_one_vector(two)
    optimisers = adam(one.parameters()), adam([whole])
    layers = Layers.trained(two)
    for _ in range(3):
        x = torch.randn(10, 4)
        optimisers[0].zero_grad()
        nn.functional.mse_loss(one(x), torch.zeros(10, 2)).backward()
        optimisers[0].step()
        with torch.no_grad():
            layers.backward(layers.forward(x) * (2 / 20))
        optimisers[1].step()
    for name, value in two.state_dict().items():
        assert torch.allclose(value, one.state_dict()[name], atol=1e-5), name


def test_a_stored_state_is_put_back_into_the_vector() -> None:
    network = mlp((4, 6, 2))
    whole = as_one_vector(network)
    network.load_state_dict({name: torch.full_like(value, 0.5) for name, value in network.state_dict().items()})
    assert bool((whole == 0.5).all())
