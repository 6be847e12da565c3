"""TRL's KTO trainer."""

from typing import Any

import numpy as np
import torch
from trl import KTOConfig, KTOTrainer

from ..data.examples import Arrays
from .batches import Example
from .callback import KitCallback
from .preference_trainer import PreferenceTrainer
from .preparation import Preparation


class LabelledTrainer(PreferenceTrainer, KTOTrainer):
    reference_columns = ("ref_logps", "ref_KL_logps")

    def __init__(
        self, model: Any, prepared: Preparation, kit: KitCallback, directory: str, initial_step: int
    ) -> None:
        objective = prepared.config["objective"]
        super().__init__(
            *(model, prepared, kit, directory, initial_step, KTOConfig),
            desirable_weight=objective["desirableWeight"],
            undesirable_weight=objective["undesirableWeight"],
        )

    def batch_of(
        self, examples: list[Example], is_desirable: list[bool]
    ) -> dict[str, torch.Tensor]:
        """Also pairs each question with the previous one's answer, for the KL term."""
        rows = [sequence for example in examples for sequence in example]
        others = [rows[-1], *rows[:-1]]
        limit = self.prepared.max_length
        mismatched = [with_answer_of(*pair, limit) for pair in zip(rows, others, strict=True)]
        label = torch.tensor(is_desirable)
        return {**self.padded(rows), **self.padded(mismatched, "KL_"), "label": label}

    def weight_of(self, batch: dict[str, torch.Tensor]) -> int:
        """1, since TRL's metrics are means over a batch's desirable or undesirable answers only."""
        return 1


def with_answer_of(row: Arrays, other: Arrays, limit: int) -> Arrays:
    """The row's question with the other row's answer."""
    (ids, learned), (other_ids, other_learned) = row, other
    question, answer = slice(np.argmax(learned)), slice(np.argmax(other_learned), None)
    return (
        np.concatenate([ids[question], other_ids[answer]])[:limit],
        np.concatenate([learned[question], other_learned[answer]])[:limit],
    )
