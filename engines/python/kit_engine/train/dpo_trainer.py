"""TRL's DPO trainer."""

from typing import Any

import torch
from trl import DPOConfig, DPOTrainer

from .batches import Example
from .callback import KitCallback
from .preference_trainer import PreferenceTrainer
from .preparation import Preparation


class PairTrainer(PreferenceTrainer, DPOTrainer):
    reference_columns = ("ref_chosen_logps", "ref_rejected_logps")

    def __init__(
        self, model: Any, prepared: Preparation, kit: KitCallback, directory: str, initial_step: int
    ) -> None:
        objective = prepared.config["objective"]
        losses = {"robust" if objective["labelSmoothing"] else "sigmoid": 1.0}
        if objective["sftWeight"]:
            losses["sft"] = objective["sftWeight"]
        super().__init__(
            *(model, prepared, kit, directory, initial_step, DPOConfig),
            loss_type=list(losses),
            loss_weights=list(losses.values()),
            label_smoothing=objective["labelSmoothing"],
        )

    def batch_of(
        self, examples: list[Example], is_desirable: list[bool]
    ) -> dict[str, torch.Tensor]:
        """All chosen answers, then all rejected ones."""
        return self.padded([pair[i] for i in (0, 1) for pair in examples])

    def weight_of(self, batch: dict[str, torch.Tensor]) -> int:
        return len(batch["input_ids"]) // 2
