"""Losses by the token, so that the size of a batch does not show."""

from typing import Any

import torch
from transformers import EvalPrediction

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


def step_share(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any) -> torch.Tensor:
    """Trainer's `compute_loss_func`: a batch's sum, divided by the learned tokens of all batches of
    the step. Some models average each batch, or forget to divide."""
    return token_losses(outputs.logits, labels).sum() / num_items_in_batch


class TokenMean:
    """Trainer's `compute_metrics` with `batch_eval_metrics`: a sum over all, divided once."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def __call__(self, batch: EvalPrediction, compute_result: bool) -> dict[str, float]:
        learned = torch.as_tensor(batch.label_ids)[:, 1:] != IGNORED
        # Other workers' rows may be longer: what pads to them counts for nothing.
        self.sum += float(torch.as_tensor(batch.predictions)[:, :-1][learned].double().sum())
        self.count += int(learned.sum())
        if not compute_result:
            return {}
        mean = self.sum / self.count
        self.sum, self.count = 0.0, 0
        return {"loss": mean}
