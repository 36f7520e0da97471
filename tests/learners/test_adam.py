"""Adam over slices against torch's own, slice by slice."""

import torch

from infonn.learners.adam import Adam


def test_every_slice_moves_as_torchs_adam_moves_it_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    gradients = torch.randn(7, 3, 5, generator=generator, dtype=torch.float64)
    active = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 0]]).double()
    rates = [0.1, 0.01, 0.001]
    stacked = start.clone()
    adam = Adam(stacked)
    for gradient, busy in zip(gradients, active):
        adam.step(stacked, gradient, torch.tensor(rates).double()[:, None], None if busy.all() else busy[:, None])
    for slice in range(3):
        alone = start[slice].clone().requires_grad_()
        theirs = torch.optim.Adam([alone], lr=rates[slice])
        for gradient, busy in zip(gradients, active):
            if busy[slice]:
                alone.grad = gradient[slice]
                theirs.step()
        torch.testing.assert_close(stacked[slice], alone.detach())
