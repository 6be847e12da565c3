"""Losses by the token, so that the size of a batch does not show."""

import torch
from transformers import EvalPrediction

from .batches import IGNORED


def token_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """[rows, length - 1]: each next token's loss in nats, and 0 where it is not learned."""
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].float().transpose(1, 2),
        labels[:, 1:],
        ignore_index=IGNORED,
        reduction="none",
    )


class TokenMean:
    """Trainer's `compute_metrics` with `batch_eval_metrics`: a sum over all, divided once."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def __call__(self, batch: EvalPrediction, compute_result: bool) -> dict[str, float]:
        self.sum += float(torch.as_tensor(batch.predictions).double().sum())
        self.count += int((torch.as_tensor(batch.label_ids)[:, 1:] != IGNORED).sum())
        if not compute_result:
            return {}
        mean = self.sum / self.count
        self.sum, self.count = 0.0, 0
        return {"loss": mean}
