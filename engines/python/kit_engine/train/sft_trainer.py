"""transformers' Trainer for SFT. Its losses are means over tokens, not over batches."""

from typing import Any

import torch
from transformers import EvalPrediction

from ..process.means import Mean
from .batches import IGNORED, AllRows, Collator, OrderedRows
from .callback import KitCallback
from .preparation import Preparation
from .schedule import rows_per_step
from .trainer import KitTrainer, arguments_of


class SftTrainer(KitTrainer):
    def __init__(
        self, model: Any, prepared: Preparation, kit: KitCallback, directory: str, initial_step: int
    ) -> None:
        # Loss of the current evaluation so far.
        self.evaluated = Mean()
        data, config = prepared.data, prepared.config
        length = prepared.steps * rows_per_step(config)
        super().__init__(
            *(model, prepared, kit, directory, initial_step),
            args=arguments_of(prepared, directory),
            train_dataset=OrderedRows(data.training, config["seed"], length),
            eval_dataset=AllRows(data.evaluation) if data.evaluation else None,
            data_collator=Collator(prepared.tokenizer.pad_token_id),
            compute_loss_func=self.step_share,
            compute_metrics=self.measure,
        )

    def step_share(
        self, outputs: Any, labels: torch.Tensor, num_items_in_batch: Any
    ) -> torch.Tensor:
        """The sum divided by the step's learned tokens, so batch size has no effect. Some models
        average each batch, or forget to divide."""
        return token_losses(outputs.logits, labels).sum() / num_items_in_batch

    def prediction_step(
        self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None
    ) -> tuple[None, torch.Tensor, torch.Tensor]:
        """The tokens' losses instead of logits and a batch mean."""
        labels = inputs.pop("labels")
        prepared = self._prepare_inputs({**inputs, "labels": labels})
        labels = prepared.pop("labels")
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = model(**prepared).logits
        return None, token_losses(logits, labels), labels

    def measure(self, batch: EvalPrediction, compute_result: bool) -> dict[str, Any]:
        """
        Sums losses over all batches, and divides once.

        :return: the mean `loss` after the last batch; before, nothing
        """
        learned = torch.as_tensor(batch.label_ids)[:, 1:] != IGNORED
        # Ignores padding to other workers' longer rows.
        losses = torch.as_tensor(batch.predictions)[:, :-1][learned]
        self.evaluated.sum += float(losses.double().sum())
        self.evaluated.count += int(learned.sum())
        if not compute_result:
            return {}
        mean = self.evaluated.sum / self.evaluated.count
        self.evaluated = Mean()
        return {"loss": mean}


def token_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """[rows, length]: each next token's loss in nats; 0 if it isn't learned."""
    next_labels = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
    return torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        next_labels.flatten(),
        ignore_index=IGNORED,
        reduction="none",
    ).view_as(labels)
