"""The tokens of a question with one answer."""

from typing import Any

from ...data.chat import Conversation
from ...data.masks import Tokens, tokens_of
from ...process.errors import KitError


def answer_sequence(conversation: Conversation, tokenizer: Any) -> Tokens:
    """:raises KitError: for an answer of several turns if the template rewrites earlier turns"""
    sequence, *others = tokens_of(conversation, tokenizer, is_prompt=True)
    if not others:
        return sequence
    raise KitError(
        "DATASET_INVALID",
        "the model's chat template rewrites earlier turns, so an answer must be one message. "
        "Move the turns before it to the prompt.",
    )
