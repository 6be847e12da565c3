"""A Trainer of transformers or TRL with Kit's schedule, metrics and checkpoints."""

import copy
import math
import os
from typing import Any

import torch
from transformers import PrinterCallback, Trainer, TrainingArguments

from ..model.models import resuming
from ..process.constants import CONSTANTS
from ..process.workers import is_main_process, world_size
from .batches import IGNORED, predicted_count
from .callback import STATE_KEY, KitCallback
from .directory import ARTIFACTS, checkpoint_path, write_directory
from .preparation import Preparation
from .schedule import learning_rate
from .step_log import assert_finite

# Files of the libraries that a checkpoint omits: one has local paths, one boilerplate.
UNWANTED = ("training_args.bin", "README.md")


class KitTrainer(Trainer):
    """Base of every objective's trainer; TRL's own trainer comes second among the bases."""

    def __init__(
        self,
        model: Any,
        prepared: Preparation,
        kit: KitCallback,
        directory: str,
        initial_step: int,
        **trainer_kwargs: Any,
    ) -> None:
        self.prepared = prepared
        self.kit = kit
        self.directory = directory
        # Steps before this Trainer's first: those of a checkpoint without scheduler state, or 0.
        self.initial_step = initial_step
        # The current step's last batch, with which a save tests the weights.
        self.batch: dict[str, torch.Tensor] = {}
        # Losses of the current step's batches.
        self.micro_batch_losses: list[torch.Tensor] = []
        super().__init__(
            model=model, processing_class=prepared.tokenizer, callbacks=[kit], **trainer_kwargs
        )
        # PrinterCallback would print every log entry.
        self.remove_callback(PrinterCallback)

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        config, steps = self.prepared.config, self.prepared.steps

        def factor(done: int) -> float:
            step = self.initial_step + done + 1
            return learning_rate(step, steps, config) / config["learningRate"]

        optimizer = self.optimizer if optimizer is None else optimizer
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        # Count while the batch is on the CPU; on the device, counting would force a sync.
        self.kit.tokens += predicted_count(inputs)
        self.batch = inputs
        loss = super().training_step(model, inputs, num_items_in_batch)
        self.micro_batch_losses.append(loss)
        return loss

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        # The only device sync of a step.
        *losses, self.kit.grad_norm = torch.stack([*self.micro_batch_losses, norm]).tolist()
        self.kit.loss = math.fsum(losses)
        self.micro_batch_losses = []
        return self.kit.grad_norm

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            # The Trainer's own mean ignores steps before a resume.
            logs["loss"] = self.kit.log.mean()
        super().log(logs, start_time)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with resuming(str(checkpoint)):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with resuming(str(checkpoint)):
            super()._load_rng_state(checkpoint)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        step, peak = self.state.global_step, self.prepared.config["learningRate"]
        if is_main_process():
            self.kit.channel.note(f"saving step {step:,}")
        trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        is_finite = all(bool(torch.isfinite(weight).all()) for weight in trained)
        assert_finite(step, "weights are not finite", is_finite, peak)
        self._try_next_step(step, model)
        path = checkpoint_path(step)
        # A collective: every worker must call it.
        self.store_flos()
        if is_main_process():
            write_directory(os.path.join(self.directory, path), self._fill)
        kind = "adapter" if self.prepared.config.get("lora") else "model"
        data = {"step": step, "kind": kind, "path": path}
        self.kit.channel.saved(self.directory, data)

    def _try_next_step(self, step: int, model: Any) -> None:
        """Tries a step without applying it: finite weights may still be too large."""
        peak = self.prepared.config["learningRate"]
        labels = self.batch.get("labels")
        num_items = None if labels is None else (labels != IGNORED).sum()
        metrics = copy.deepcopy(self.kit.metrics)
        with torch.random.fork_rng():
            loss = super().training_step(model, self.batch, num_items)
        self.kit.metrics = metrics
        norm = self.accelerator.clip_grad_norm_(model.parameters(), math.inf)
        model.zero_grad()
        next_step = min(step + 1, self.prepared.steps)
        for name, value in (("loss", loss), ("gradient norm", norm)):
            assert_finite(next_step, f"{name} is not finite", math.isfinite(value), peak)

    def _fill(self, folder: str) -> None:
        """Saves everything that the Trainer would, by its own methods."""
        # The Trainer disables the cache for training; the saved model keeps its own setting.
        self.model.config.use_cache = getattr(self.prepared.model_config, "use_cache", True)
        self.save_model(folder, _internal_call=True)
        self.model.config.use_cache = self.args.use_cache
        self._save_optimizer_and_scheduler(folder)
        self._save_scaler(folder)
        self._save_rng_state(folder)
        self.state.stateful_callbacks = {STATE_KEY: self.kit.state()}
        self.state.save_to_json(os.path.join(folder, "trainer_state.json"))
        for name in UNWANTED:
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def arguments_of(
    prepared: Preparation,
    directory: str,
    args_type: type[TrainingArguments] = TrainingArguments,
    **more: Any,
) -> TrainingArguments:
    """Kit's callback decides when to log, evaluate and save."""
    config, device = prepared.config, prepared.device
    # batchSize is across all workers.
    rows = config["batchSize"] // world_size()
    arguments = args_type(
        output_dir=os.path.join(directory, ARTIFACTS),
        max_steps=prepared.steps,
        per_device_train_batch_size=rows,
        per_device_eval_batch_size=rows,
        gradient_accumulation_steps=config["gradientAccumulationSteps"],
        learning_rate=config["learningRate"],
        weight_decay=config["weightDecay"],
        max_grad_norm=config["maxGradNorm"],
        adam_beta2=CONSTANTS["adamBeta2"],
        optim="adamw_torch_fused" if device.name == "cuda" else "adamw_torch",
        seed=config["seed"],
        train_sampling_strategy="sequential",
        batch_eval_metrics=True,
        logging_strategy="no",
        eval_strategy="no",
        save_strategy="no",
        logging_nan_inf_filter=False,
        restore_callback_states_from_checkpoint=False,
        remove_unused_columns=False,
        label_names=["labels"],
        bf16=device.bf16,
        use_cpu=device.name == "cpu",
        gradient_checkpointing=bool(config["engine"].get("gradientCheckpointing")),
        gradient_checkpointing_kwargs={"use_reentrant": False},
        dataloader_pin_memory=device.name == "cuda",
        disable_tqdm=True,
        report_to="none",
        **more,
    )
    # With several GPUs, the Trainer would multiply the batch.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments
