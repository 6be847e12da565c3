"""Supervised fine-tuning: the mean negative log likelihood of a learned token."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers import EvalPrediction

from ..batches import IGNORED
from ..ignored_keys import IgnoredKeys
from ..losses import token_losses
from ..masks import Tokens, sequences_of
from ..means import Mean
from ..rows import EXPECTED_ROW, Row, read_rows


class Sft:
    expected = EXPECTED_ROW
    needs_all = False

    def __init__(self) -> None:
        self.metrics: dict[str, Mean] = {}
        # Of the evaluation in work.
        self.evaluated = Mean()

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Row]:
        return read_rows(files, ignored)

    def is_text(self, row: Row) -> bool:
        return row.conversation is None

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        return sequences_of(row, tokenizer)

    def step_share(
        self, outputs: Any, labels: torch.Tensor, num_items_in_batch: Any
    ) -> torch.Tensor:
        """A sum divided by the learned tokens of all batches of the step, so that the size of a
        batch does not show. Some models average each batch, or forget to divide."""
        return token_losses(outputs.logits, labels).sum() / num_items_in_batch

    def measure(self, batch: EvalPrediction, compute_result: bool) -> dict[str, Any]:
        """A sum over all, divided once."""
        learned = torch.as_tensor(batch.label_ids)[:, 1:] != IGNORED
        # Other workers' rows may be longer: what pads to them counts for nothing.
        losses = torch.as_tensor(batch.predictions)[:, :-1][learned]
        self.evaluated.sum += float(losses.double().sum())
        self.evaluated.count += int(learned.sum())
        if not compute_result:
            return {}
        mean = self.evaluated.sum / self.evaluated.count
        self.evaluated = Mean()
        return {"loss": mean}
