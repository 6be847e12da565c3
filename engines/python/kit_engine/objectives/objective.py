"""What every objective has."""

from collections.abc import Iterator
from typing import Any, Protocol

import torch
from transformers import EvalPrediction

from ..ignored_keys import IgnoredKeys
from ..masks import Tokens
from ..means import Mean


class Objective(Protocol):
    # The forms of a line, for error messages.
    expected: str
    # Whether a row needs each of its sequences, as a pair does. Others go without those that do
    # not fit.
    needs_all: bool
    # Of the step in work, by the names of all metrics: `step_share` adds to them.
    metrics: dict[str, Mean]

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Any]:
        """
        The rows, each with its names in the file as `keys`: `prompt, completion`.

        :raises KitError: `DATASET_INVALID` with file and line
        """
        ...

    def is_text(self, row: Any) -> bool:
        """Whether it is one long text, which is cut into pieces rather than shortened."""
        ...

    def sequences_of(self, row: Any, tokenizer: Any) -> list[Tokens]:
        """The sequences that a row becomes; they stay in one batch."""
        ...

    def step_share(
        self, outputs: Any, labels: torch.Tensor, num_items_in_batch: Any
    ) -> torch.Tensor:
        """Trainer's `compute_loss_func`: a batch's share of a step's loss."""
        ...

    def measure(self, batch: EvalPrediction, compute_result: bool) -> dict[str, Any]:
        """
        Trainer's `compute_metrics` with `batch_eval_metrics`, of the tokens' losses: at the end
        the `loss` over all, and `metrics` by their names, if there are any.
        """
        ...
