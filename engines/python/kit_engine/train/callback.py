"""Controls when transformers' Trainer logs, evaluates, saves and stops, and reports to Kit."""

import math
import threading
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from ..process.channel import Channel
from ..process.errors import Cancelled
from ..process.means import Mean, values_of
from ..process.workers import all_reduce_loss, all_reduce_means
from .preparation import Preparation
from .schedule import learning_rate
from .step_log import StepLog, assert_finite, is_due, is_logged, log_event

# The largest learning rate: AdamW's first step divides it by 1 - 0.9, in float32.
MAX_RATE = 3.4e37
# Key of the callback's state in trainer_state.json, the same for every engine.
STATE_KEY = "Kit"


class KitCallback(TrainerCallback, ExportableState):
    def __init__(
        self,
        prepared: Preparation,
        channel: Channel,
        cancelled: threading.Event,
        log: StepLog,
    ) -> None:
        self.prepared = prepared
        self.channel = channel
        self.cancelled = cancelled
        self.log = log
        # Values of the current step, set by KitTrainer.
        self.metrics: dict[str, Mean] = {}
        self.loss = 0.0
        self.grad_norm = math.nan
        self.tokens = 0
        # A step's log entry until its evaluation is done.
        self.pending_entry: dict[str, Any] | None = None

    def state(self) -> dict[str, Any]:
        hub = self.prepared.hub
        source = {"model": self.prepared.config["model"], "commit": hub["commit"]} if hub else {}
        return {"args": {}, "attributes": {**self.log.pending(), "checksums": True, **source}}

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.stop_if_cancelled()
        self.log.begin()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.stop_if_cancelled()

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Stops before non-finite numbers reach the weights."""
        self.loss, self.tokens = all_reduce_loss(self.loss, self.tokens, self.prepared.device.name)
        config = self.prepared.config
        step, peak = state.global_step + 1, config["learningRate"]
        assert_finite(step, "loss is not finite", math.isfinite(self.loss), peak)
        assert_finite(step, "gradient norm is not finite", math.isfinite(self.grad_norm), peak)
        rate = learning_rate(step, self.prepared.steps, config)
        assert_finite(step, "weights are not finite", rate <= MAX_RATE, peak)
        metrics = all_reduce_means(self.metrics, self.prepared.device.name)
        self.log.add(self.loss, self.grad_norm, self.tokens, metrics)
        self.metrics = {name: Mean() for name in metrics}

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.log.end()
        state.num_input_tokens_seen += self.tokens
        self.tokens = 0
        config, steps, step = self.prepared.config, self.prepared.steps, state.global_step
        state.epoch = self.prepared.epochs_at(step)
        has_evaluation = self.prepared.data.evaluation is not None
        control.should_evaluate = has_evaluation and is_due(step, config["evalSteps"], steps)
        is_due_log = is_logged(step, config["loggingSteps"], steps)
        control.should_log = is_due_log or control.should_evaluate
        control.should_save = is_due(step, config["saveSteps"], steps)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.stop_if_cancelled()

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        entry = state.log_history[-1]
        if "loss" in entry:
            self.pending_entry = entry
            if not control.should_evaluate:
                self._report(entry)
        elif "eval_loss" in entry and self.pending_entry is not None:
            peak = self.prepared.config["learningRate"]
            is_finite = math.isfinite(entry["eval_loss"])
            assert_finite(state.global_step, "loss is not finite", is_finite, peak)
            evaluated = {key: entry[key] for key in ("eval_loss", "eval_metrics") if key in entry}
            self._report({**self.pending_entry, **evaluated})

    def _report(self, entry: dict[str, Any]) -> None:
        metrics = values_of(self.log.metrics)
        self.channel.event("training.log", log_event(entry, self.log.tokens_per_second(), metrics))
        self.log.clear()

    def stop_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled
