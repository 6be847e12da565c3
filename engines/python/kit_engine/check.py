"""Reads what a training would, and trains nothing."""

from typing import Any

from .channel import Channel
from .examples import ExampleSet
from .limits import decode
from .masks import Tokens
from .models import quiet
from .preparation import Preparation, prepare
from .train import load_trained, trainable_count

FLOAT32_BYTES = 4
# Copies of a trained number: itself, its gradient and AdamW's two means.
TRAINED_COPIES = 4
# Numbers that a block keeps for each token until its gradient, as multiples of the hidden size.
KEPT_BY_BLOCK = 34
# Copies of the logits: in float32, their softmax and their gradient.
LOGITS_COPIES = 3


def check(job: dict[str, Any], channel: Channel) -> dict[str, Any]:
    quiet()
    prepared = prepare(job, channel)
    model = load_trained(prepared, job["directory"])
    training = prepared.data.training
    started = prepared.started(job["modelName"], trainable_count(model))
    return {
        "started": started,
        "kept": prepared.kept_out(),
        "learnedTokens": sum(sum(row.learned) for row in rows_of(training)),
        "longestRow": prepared.data.dataset.longest,
        "memoryBytes": memory_bytes(prepared, model),
        "firstRow": [piece for one in training[0] for piece in pieces_of(one, prepared.tokenizer)],
    }


def rows_of(examples: ExampleSet) -> list[Tokens]:
    return [sequence for i in range(len(examples)) for sequence in examples[i]]


def memory_bytes(prepared: Preparation, model: Any) -> int:
    """An estimate: weights, gradients and moments, and the activations of a batch."""
    trained = trainable_count(model)
    frozen = sum(one.numel() for one in model.parameters()) - trained
    text = prepared.model_config.get_text_config()
    tokens = prepared.config["batchSize"] * prepared.data.training.longest()
    kept = KEPT_BY_BLOCK * text.hidden_size * text.num_hidden_layers
    activations = tokens * (kept + LOGITS_COPIES * text.vocab_size)
    return FLOAT32_BYTES * (TRAINED_COPIES * trained + frozen + activations)


def pieces_of(row: Tokens, tokenizer: Any) -> list[dict[str, Any]]:
    """A row's text in parts that are learned or not; each special token is one."""
    added = tokenizer.added_tokens_decoder
    pieces: list[dict[str, Any]] = []
    start = 0
    while start < len(row.ids):
        is_special = row.ids[start] in added
        end = start + 1
        while not is_special and end < len(row.ids) and is_same(row, start, end, added):
            end += 1
        text = decode(row.ids[start:end], tokenizer)
        pieces.append({"text": text, "isLearned": row.learned[start], "isSpecial": is_special})
        start = end
    return pieces


def is_same(row: Tokens, start: int, end: int, added: dict[int, Any]) -> bool:
    return row.ids[end] not in added and row.learned[end] == row.learned[start]
