"""Trains with an objective that measures how many learned tokens are the likeliest."""

import json
import sys
import threading
from typing import Any

sys.path.insert(0, sys.argv[1])

import torch
from kit_engine.process.channel import Channel
from kit_engine.process.means import Mean
from kit_engine.train import train as training
from kit_engine.train.batches import IGNORED
from kit_engine.train.objectives.sft import Sft
from kit_engine.train.sft_trainer import SftTrainer
from transformers import EvalPrediction


class Measured(SftTrainer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kit.metrics = {"accuracy": Mean(), "never": Mean()}

    def step_share(self, outputs: Any, labels: torch.Tensor, num_items_in_batch: Any) -> Any:
        following = labels[:, 1:]
        is_learned = following != IGNORED
        is_right = outputs.logits[:, :-1].argmax(-1) == following
        self.kit.metrics["accuracy"].sum += int((is_right & is_learned).sum())
        self.kit.metrics["accuracy"].count += int(is_learned.sum())
        return super().step_share(outputs, labels, num_items_in_batch)

    def measure(self, batch: EvalPrediction, compute_result: bool) -> dict[str, Any]:
        found = super().measure(batch, compute_result)
        return {**found, "metrics": {"accuracy": 0.25}} if compute_result else found


Sft.trainer_class = lambda self: Measured
training.train(json.loads(sys.argv[2]), Channel(1), threading.Event())
