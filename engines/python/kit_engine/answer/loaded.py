"""A model to ask."""

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
    # Tokens of the longest prompt with its answer.
    context: int
    token_bytes: TokenBytes
    # Tokens that end an answer.
    ends: set[int]
    # Whether an answer is not made of a token [vocabulary].
    suppressed: Any
    # For answers that are held to a form: by the markers that they may have.
    text_tokens: dict[tuple[int, ...], TextTokens] = field(default_factory=dict)
    # By their forms and markers, the one that was used last at the end.
    grammars: dict[tuple[str, tuple[int, ...]], TokenMasks] = field(default_factory=dict)

    def without(self, markers: Iterable[int]) -> Any:
        """`suppressed`, but for some special tokens."""
        suppressed = self.suppressed.clone()
        suppressed[list(markers)] = False
        return suppressed


def load(source: Source, device: Device) -> Loaded:
    # Says what is no model to answer from.
    load_config(source)
    tokenizer = load_tokenizer(source)
    set_padding(tokenizer)
    model = load_model(source, device.frozen_dtype()).to(device.name)
    model.eval()
    # Its other settings are of other ways to generate, some of which take hours or code of its own.
    vocabulary = model.config.get_text_config().vocab_size
    ends = {one for one in stop_tokens_of(tokenizer) if one < vocabulary}
    model.generation_config = GenerationConfig(eos_token_id=sorted(ends) or None)
    suppressed = torch.zeros(vocabulary, dtype=torch.bool)
    suppressed[suppressed_ids(tokenizer, vocabulary, ends)] = True
    return Loaded(
        model,
        tokenizer,
        device,
        context_of(model.config),
        TokenBytes(tokenizer),
        ends,
        suppressed.to(device.name),
    )


def suppressed_ids(tokenizer: Any, vocabulary: int, ends: set[int]) -> list[int]:
    """Specials and numbers without a token, which an answer is not made of."""
    specials = {i for i, one in tokenizer.added_tokens_decoder.items() if one.special}
    unused = range(len(tokenizer), vocabulary)
    return sorted(one for one in (specials | set(unused)) - ends if one < vocabulary)
