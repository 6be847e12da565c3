"""A row as the model sees it, and which of its tokens are learned."""

from dataclasses import dataclass
from typing import Any

from .errors import KitError
from .limits import TEMPLATES, encode
from .rows import Message, Row


@dataclass
class Tokens:
    ids: list[int]
    # As long as `ids`: whether a token is learned from those before it.
    learned: list[bool]


def tokens_of(row: Row, tokenizer: Any) -> Tokens:
    if row.messages is None:
        return text_tokens(row.text, tokenizer)
    if tokenizer.chat_template is None:
        return plain_tokens(row.messages, tokenizer)
    return conversation_tokens(row.messages, tokenizer)


def text_tokens(text: str, tokenizer: Any) -> Tokens:
    """All of a text is learned, and its end."""
    ids = list(encode(text, tokenizer)["input_ids"])
    if tokenizer.eos_token_id is not None and ids[-1:] != [tokenizer.eos_token_id]:
        ids.append(tokenizer.eos_token_id)
    starts = bool(ids) and ids[0] == tokenizer.bos_token_id
    return Tokens(ids, [not (starts and i == 0) for i in range(len(ids))])


def plain_tokens(messages: list[Message], tokenizer: Any) -> Tokens:
    """Without a chat template, a conversation is its words, and an end after each answer."""
    tokens = Tokens([], [])
    for i, message in enumerate(messages):
        encoded = encode(message["content"], tokenizer, add_special_tokens=i == 0)
        ids = list(encoded["input_ids"])
        is_answer = message["role"] == "assistant"
        if is_answer and tokenizer.eos_token_id is not None:
            ids.append(tokenizer.eos_token_id)
        tokens.ids += ids
        tokens.learned += [is_answer] * len(ids)
    return tokens


def conversation_tokens(messages: list[Message], tokenizer: Any) -> Tokens:
    """The answers are learned, each up to its first end-of-sequence token."""
    if messages[0]["role"] == "assistant":
        # `transformers` opens no conversation without a message.
        raise KitError(
            "DATASET_INVALID",
            "A conversation begins with an assistant's message, which answers nothing. "
            "Write a user or system message before it.",
        )
    text = render(messages, tokenizer)
    encoded = encode(text, tokenizer, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = list(encoded["input_ids"]), encoded["offset_mapping"]
    learned = [False] * len(ids)
    for begin, end in answer_spans(messages, text, tokenizer):
        for i, (first, last) in enumerate(offsets):
            # A byte-level tokenizer may leave white space out of its offsets.
            if begin <= first and begin < last <= end:
                learned[i] = True
                if ids[i] == tokenizer.eos_token_id:
                    break
    return Tokens(ids, learned)


def answer_spans(messages: list[Message], text: str, tokenizer: Any) -> list[tuple[int, int]]:
    """The characters of each answer: from the opened turn's end to the turn's."""
    spans: list[tuple[int, int]] = []
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        opened = render(messages[:i], tokenizer, opens=True)
        closed = text if i + 1 == len(messages) else render(messages[: i + 1], tokenizer)
        if not (text.startswith(closed) and closed.startswith(opened)):
            raise KitError(
                "DATASET_INVALID",
                "The model's chat template rewrites earlier turns, so its answers cannot be told "
                "apart. Write one answer per row, or use a model with another template.",
            )
        spans.append((len(opened), len(closed)))
    return spans


def render(
    messages: list[Message], tokenizer: Any, opens: bool = False, goes_on: bool = False
) -> str:
    """
    :param opens: whether an answer is to follow
    :param goes_on: whether the last message is to be continued
    """
    try:
        with TEMPLATES.limit():
            rendered = tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=opens,
                continue_final_message=goes_on,
            )
    except Exception as error:
        raise KitError(
            "DATASET_INVALID",
            f"The model's chat template refuses a conversation: {error}. "
            "Change the row's messages, or use a model with another template.",
        ) from error
    return str(rendered)
