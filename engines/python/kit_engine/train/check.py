"""Checks a training run without training."""

import time
from typing import Any

import torch

from ..data.dataset import NOTE_EVERY_SECONDS
from ..data.examples import ExampleSet
from ..data.inspection import Inspection
from ..data.masks import Tokens
from ..data.objective import Objective
from ..model.models import silence_libraries
from ..process.channel import Channel
from ..process.constants import CONSTANTS
from ..process.limits import decode
from .batches import IGNORED
from .objectives import objective_of
from .preparation import Preparation, prepare
from .sft_trainer import token_losses
from .train import load_trainable, trainable_count

FLOAT32_BYTES = 4
# Copies of a trained parameter: weight, gradient and AdamW's two moments.
TRAINED_COPIES = 4
# Activations that a layer stores per token for the backward pass, as multiples of the hidden size.
ACTIVATIONS_PER_LAYER = 34
# Copies of the logits: in float32, their softmax and their gradient.
LOGITS_COPIES = 3


def check(job: dict[str, Any], channel: Channel) -> dict[str, Any]:
    silence_libraries()
    inspection = Inspection()
    objective = objective_of(job["config"])
    prepared = prepare(job, objective, channel, inspection)
    model = load_trainable(prepared, job["directory"])
    training = prepared.data.training
    started = prepared.started(job["modelName"], trainable_count(model))
    hardest = None
    if job.get("measuresLoss"):
        if job["config"].get("objective"):
            channel.note("no hardest rows: before training, all rows have the same loss")
        else:
            hardest = hardest_rows(prepared, model, inspection, channel)
    return {
        "started": started,
        "skipped": prepared.skipped_rows(),
        "dataset": inspection.report(),
        **({} if hardest is None else {"hardest": hardest}),
        "learnedTokens": sum(sum(row.learned) for row in rows_of(training)),
        "longestRow": prepared.data.dataset.longest,
        "memoryBytes": memory_bytes(prepared, model),
        "firstRow": first_row(prepared, objective),
    }


def hardest_rows(
    prepared: Preparation, model: Any, inspection: Inspection, channel: Channel
) -> list[dict[str, Any]]:
    """The rows with the highest loss before training, as in engines/training/inspection.ts."""
    training, device = prepared.data.training, prepared.device
    count = min(CONSTANTS["maxMeasuredRows"], len(training))
    channel.note(f"measuring the loss of {count:,} examples")
    last_note = time.monotonic()
    model.to(device.name).eval()
    losses = []
    with torch.no_grad(), torch.autocast(device.name, torch.bfloat16, enabled=device.bf16):
        for i in range(count):
            if time.monotonic() - last_note > NOTE_EVERY_SECONDS:
                last_note = time.monotonic()
                channel.note(f"measuring the loss: {i} of {count:,} examples")
            index = i * len(training) // count
            losses.append((loss_of(training[index], model), index))
    defined = [(loss, index) for loss, index in losses if loss is not None]
    hardest = sorted(defined, key=lambda pair: -pair[0])[: CONSTANTS["hardestRows"]]
    return [
        {
            "where": inspection.trained[training.row_at(index)],
            "loss": loss,
            "row": segments_in(training[index], prepared.tokenizer),
        }
        for loss, index in hardest
    ]


def loss_of(sequences: list[Tokens], model: Any) -> float | None:
    """Mean loss of the learned tokens; None if there are none."""
    total, learned = 0.0, 0
    for tokens in sequences:
        ids = torch.tensor([tokens.ids], device=model.device)
        is_learned = torch.tensor([tokens.learned], device=model.device)
        losses = token_losses(model(ids).logits, ids.where(is_learned, IGNORED))
        total += float(losses.double().sum())
        learned += sum(tokens.learned)
    return total / learned if learned > 0 else None


def segments_in(sequences: list[Tokens], tokenizer: Any) -> list[dict[str, Any]]:
    return [segment for tokens in sequences for segment in segments_of(tokens, tokenizer)]


def first_row(prepared: Preparation, objective: Objective) -> list[dict[str, Any]]:
    """The first row's segments; those of rejected answers are marked."""
    training = prepared.data.training
    return [
        {**segment, "isAvoided": True} if is_penalized and segment["isLearned"] else segment
        for i, tokens in enumerate(training[0])
        for is_penalized in [objective.is_penalized(training.is_undesirable(0), i)]
        for segment in segments_of(tokens, prepared.tokenizer)
    ]


def rows_of(examples: ExampleSet) -> list[Tokens]:
    return [sequence for i in range(len(examples)) for sequence in examples[i]]


def memory_bytes(prepared: Preparation, model: Any) -> int:
    """An estimate: weights, gradients and moments, and the activations of a batch."""
    trained = trainable_count(model)
    frozen = sum(parameter.numel() for parameter in model.parameters()) - trained
    text = prepared.model_config.get_text_config()
    tokens = prepared.config["batchSize"] * prepared.data.training.largest()
    activations = ACTIVATIONS_PER_LAYER * text.hidden_size * text.num_hidden_layers
    # The type of activations and of an adapter's base.
    size = prepared.device.frozen_dtype().itemsize
    in_float32 = TRAINED_COPIES * trained + tokens * LOGITS_COPIES * text.vocab_size
    return FLOAT32_BYTES * in_float32 + size * (frozen + tokens * activations)


def segments_of(row: Tokens, tokenizer: Any) -> list[dict[str, Any]]:
    """Splits a row's text into learned and other segments; a special token is its own segment."""
    added = tokenizer.added_tokens_decoder
    segments: list[dict[str, Any]] = []
    start = 0
    while start < len(row.ids):
        is_special = row.ids[start] in added
        end = start + 1
        while not is_special and end < len(row.ids) and continues_segment(row, start, end, added):
            end += 1
        text = decode(row.ids[start:end], tokenizer)
        segments.append({"text": text, "isLearned": row.learned[start], "isSpecial": is_special})
        start = end
    return segments


def continues_segment(row: Tokens, start: int, end: int, added: dict[int, Any]) -> bool:
    return row.ids[end] not in added and row.learned[end] == row.learned[start]
