"""A loaded model."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationConfig

from ..model.models import (
    Source,
    context_of,
    load_config,
    load_model,
    load_tokenizer,
    set_padding,
)
from ..model.stop_tokens import stop_tokens_of
from ..process.device import Device
from .constraint import TextTokens, TokenMasks
from .decoding import TokenBytes


@dataclass
class Loaded:
    model: Any
    tokenizer: Any
    device: Device
    # Context length: maximum tokens of prompt and answer.
    context: int
    token_bytes: TokenBytes
    stop_token_ids: set[int]
    # Whether answers may not contain a token [vocabulary].
    suppressed: Any
    # For constrained answers, by the special tokens that they may contain, their markers.
    text_tokens: dict[tuple[int, ...], TextTokens] = field(default_factory=dict)
    # By constraint spec and markers, most recently used last.
    grammars: dict[tuple[str, tuple[int, ...]], TokenMasks] = field(default_factory=dict)

    def without(self, markers: Iterable[int]) -> Any:
        """`suppressed`, except these special tokens."""
        suppressed = self.suppressed.clone()
        suppressed[list(markers)] = False
        return suppressed


def load(source: Source, device: Device) -> Loaded:
    # Refuses models that can't generate.
    load_config(source)
    tokenizer = load_tokenizer(source)
    set_padding(tokenizer)
    model = load_model(source, device.frozen_dtype()).to(device.name)
    model.eval()
    # Drops the model's other generation settings, some of which take hours or need custom code.
    vocabulary = model.config.get_text_config().vocab_size
    stop_token_ids = {token for token in stop_tokens_of(tokenizer) if token < vocabulary}
    model.generation_config = GenerationConfig(eos_token_id=sorted(stop_token_ids) or None)
    suppressed = torch.zeros(vocabulary, dtype=torch.bool)
    suppressed[suppressed_ids(tokenizer, vocabulary, stop_token_ids)] = True
    return Loaded(
        model,
        tokenizer,
        device,
        context_of(model.config),
        TokenBytes(tokenizer),
        stop_token_ids,
        suppressed.to(device.name),
    )


def suppressed_ids(tokenizer: Any, vocabulary: int, stop_token_ids: set[int]) -> list[int]:
    """Special tokens and unused ids."""
    specials = {i for i, added in tokenizer.added_tokens_decoder.items() if added.special}
    unused = range(len(tokenizer), vocabulary)
    return sorted(i for i in (specials | set(unused)) - stop_token_ids if i < vocabulary)
