"""Each token's loss."""

import torch

from .batches import IGNORED


def token_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """[rows, length]: each next token's loss in nats, and 0 where it is not learned."""
    following = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
    return torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        following.flatten(),
        ignore_index=IGNORED,
        reduction="none",
    ).view_as(labels)
