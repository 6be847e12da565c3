"""Runs a training job from start to end."""

import json
import math
import os
import shutil
import threading
import warnings
from typing import Any

from safetensors import safe_open

from ..model.models import BASE, Source, load_model, resuming, silence_libraries
from ..model.stop_tokens import save_stop_tokens
from ..process.channel import Channel
from ..process.errors import KitError
from ..process.means import Mean
from .adapter import with_adapter
from .callback import STATE_KEY, KitCallback
from .directory import ARTIFACTS, checkpoint_path, write_directory
from .objectives import objective_of
from .preparation import Preparation, prepare
from .step_log import StepLog

# A checkpoint's files that only a resume needs.
OPTIMIZER, SCHEDULER = "optimizer.pt", "scheduler.pt"


def train(job: dict[str, Any], channel: Channel, cancelled: threading.Event) -> None:
    silence_libraries()
    directory, resume_from = job["directory"], job.get("resumeFrom")
    objective = objective_of(job["config"])
    prepared = prepare(job, objective, channel)
    state = read_state(resume_from) if resume_from else {}
    model = load_trainable(prepared, directory)
    started = prepared.started(job["modelName"], trainable_count(model))
    if resume_from:
        assert_same_model(resume_from, trainable_count(model))
    channel.send("started", data=started, skipped=prepared.skipped_rows())
    if resume_from and state["step"] >= prepared.steps:
        return adopt_checkpoint(resume_from, directory, state["step"], prepared, channel)
    initial_step = 0
    if resume_from and not has_optimizer(resume_from):
        channel.note(
            f"warning: {resume_from} has no {OPTIMIZER}, so the optimizer starts afresh; "
            "losses will differ from an uninterrupted run"
        )
        initial_step = state["step"]
    kit = KitCallback(prepared, channel, cancelled, state.get("log", StepLog()))
    trainer_class = objective.trainer_class()
    trainer = trainer_class(model, prepared, kit, directory, initial_step)
    trainer.train(resume_from_checkpoint=resume_from)


def has_optimizer(checkpoint: str) -> bool:
    return all(os.path.exists(os.path.join(checkpoint, name)) for name in (OPTIMIZER, SCHEDULER))


def load_trainable(prepared: Preparation, directory: str) -> Any:
    """The model to train; with LoRA, the base with a new adapter."""
    lora, device = prepared.config.get("lora"), prepared.device
    dtype = device.frozen_dtype() if lora else device.trained_dtype()
    model = load_model(prepared.source, dtype)
    save_stop_tokens(model, prepared.tokenizer)
    if not lora:
        return model
    if prepared.source.adapter is not None:
        # The merged model isn't on disk yet.
        save_base(model, prepared, directory)
    adapted = with_adapter(model, lora, prepared.config["seed"])
    name, peft_config = prepared.base_name, adapted.peft_config["default"]
    if prepared.hub:
        name, peft_config.revision = prepared.hub["repo"], prepared.hub["commit"]
    if name is not None:
        # PEFT would warn that no folder has the base's name.
        warnings.filterwarnings("ignore", "Could not find a config file")
        peft_config.base_model_name_or_path = name
    return adapted


def save_base(model: Any, prepared: Preparation, directory: str) -> None:
    path = os.path.join(directory, ARTIFACTS, BASE)

    def fill(folder: str) -> None:
        model.save_pretrained(folder)
        prepared.tokenizer.save_pretrained(folder)

    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_directory(path, fill)
    model.name_or_path = path
    model.config._name_or_path = path
    prepared.source = Source(path)


def trainable_count(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def read_state(checkpoint: str) -> dict[str, Any]:
    """The other job's step and logged losses at its checkpoint."""
    try:
        with open(os.path.join(checkpoint, "trainer_state.json"), encoding="utf-8") as file:
            state = json.load(file)
        kit_state = state["stateful_callbacks"][STATE_KEY]["attributes"]
        metrics = {name: Mean(**mean) for name, mean in kit_state.get("metrics", {}).items()}
        log = StepLog(losses=kit_state["losses"], metrics=metrics)
        return {"step": state["global_step"], "log": log}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KitError(
            "RESUME_INVALID",
            f"{checkpoint} does not record the progress of training. "
            "Use a checkpoint that Kit saved.",
        ) from error


def assert_same_model(checkpoint: str, trainable: int) -> None:
    """Compares parameter counts, since tensor names vary between libraries."""
    saved = 0
    for name in os.listdir(checkpoint):
        if name.endswith(".safetensors") and not name.startswith("optimizer"):
            with resuming(checkpoint), safe_open(os.path.join(checkpoint, name), "pt") as file:
                saved += sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118
    if saved != trainable:
        raise KitError(
            "CANNOT_RESUME",
            f"{checkpoint} belongs to a different model or adapter than the trainer's, so the "
            "training cannot resume from it. Undo the change, or start without resume.",
        )


def adopt_checkpoint(
    resume_from: str, directory: str, step: int, prepared: Preparation, channel: Channel
) -> None:
    """Copies the checkpoint: the earlier job finished its steps but never completed."""
    path = checkpoint_path(step)
    target = os.path.join(directory, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)

    def fill(folder: str) -> None:
        shutil.copytree(resume_from, folder, dirs_exist_ok=True)

    write_directory(target, fill)
    kind = "adapter" if prepared.config.get("lora") else "model"
    channel.saved(directory, {"step": step, "kind": kind, "path": path})
