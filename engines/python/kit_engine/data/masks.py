"""A row's tokens, and which of them are learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..model.stop_tokens import stop_tokens, stop_tokens_of
from ..process.errors import KitError
from ..process.limits import TEMPLATES, decode, encode
from .chat import Conversation, Message, adapt_messages, is_learned, tools_unsupported
from .markup import markup_of
from .rows import Row
from .template_date import template_variables
from .text_encoder import encode_text, tokens_around


@dataclass
class Tokens:
    ids: list[int]
    # As long as `ids`: whether a token is learned from those before it.
    learned: list[bool]


def sequences_of(row: Row, tokenizer: Any) -> list[Tokens]:
    """One sequence, or one for each answer if the chat template rewrites earlier turns."""
    if row.is_text:
        return [text_tokens(row.text, tokenizer)]
    return tokens_of(row.conversations[0], tokenizer, is_prompt=row.keys.startswith("prompt"))


def tokens_of(conversation: Conversation, tokenizer: Any, is_prompt: bool) -> list[Tokens]:
    """
    :param is_prompt: whether it may be an already rendered prompt with its answer
    """
    prompt = rendered_prompt(conversation, tokenizer) if is_prompt else None
    if prompt is not None:
        return [rendered_tokens(prompt, conversation.messages[1]["content"] or "", tokenizer)]
    if tokenizer.chat_template is None:
        return [plain_tokens(conversation, tokenizer)]
    return conversation_tokens(conversation, tokenizer)


def text_tokens(text: str, tokenizer: Any) -> Tokens:
    """A plain text, of which all is learned, with a stop token."""
    ids = encode_text(text, tokenizer)
    if not ends_with_stop_token(ids, tokenizer):
        ids += stop_tokens_of(tokenizer)[:1]
    has_bos = bool(ids) and ids[0] == tokenizer.bos_token_id
    return Tokens(ids, [not (has_bos and i == 0) for i in range(len(ids))])


def plain_tokens(conversation: Conversation, tokenizer: Any) -> Tokens:
    """Without a chat template: the messages' contents, with a stop token after each answer."""
    tokens = Tokens([], [])
    if conversation.tools or any(
        message["role"] == "tool" or "tool_calls" in message for message in conversation.messages
    ):
        raise tools_unsupported()
    for i, message in enumerate(conversation.messages):
        content = message["content"]
        ids = encode_text(content, tokenizer) if i == 0 else bare_ids(content, tokenizer)
        if message["role"] == "assistant" and not ends_with_stop_token(ids, tokenizer):
            ids += stop_tokens_of(tokenizer)[:1]
        tokens.ids += ids
        tokens.learned += [is_learned(message)] * len(ids)
    return tokens


def bare_ids(text: str, tokenizer: Any) -> list[int]:
    return list(encode(text, tokenizer, add_special_tokens=False)["input_ids"])


def ends_with_stop_token(ids: list[int], tokenizer: Any) -> bool:
    """Whether tokens end with a stop token, ignoring trailing white space."""
    stop_ids = stop_tokens_of(tokenizer)
    for token in reversed(ids):
        if token in stop_ids:
            return True
        if decode([token], tokenizer).strip():
            return False
    return False


def rendered_prompt(conversation: Conversation, tokenizer: Any) -> str | None:
    """The prompt, if a template has already rendered it; None for any other conversation."""
    messages = conversation.messages
    if [message["role"] for message in messages] != ["user", "assistant"] or conversation.tools:
        return None
    prompt, is_call = messages[0]["content"] or "", "tool_calls" in messages[1]
    return prompt if not is_call and markup_of(tokenizer).is_rendered(prompt) else None


def rendered_tokens(prompt: str, completion: str, tokenizer: Any) -> Tokens:
    """A prompt that is already rendered, with its completion."""
    text = prompt + completion
    tokens = mask_spans(text, [(len(prompt), len(text))], tokenizer)
    stop_ids = stop_tokens_of(tokenizer)
    learned_ids = [i for i, learned in zip(tokens.ids, tokens.learned, strict=True) if learned]
    if not any(i in stop_ids for i in learned_ids):
        turn = stop_tokens(tokenizer).turn
        tokens.ids += stop_ids[:1] if turn is None else [turn]
        tokens.learned += [True] * (len(tokens.ids) - len(tokens.learned))
    before, _ = tokens_around(tokenizer)
    if tokens.ids[: len(before)] == before:
        return tokens
    return Tokens(before + tokens.ids, [False] * len(before) + tokens.learned)


def conversation_tokens(conversation: Conversation, tokenizer: Any) -> list[Tokens]:
    """Learns the answers, each with its stop token, which may be the next turn's first token."""
    messages = conversation.messages
    if messages[0]["role"] == "assistant":
        # An answer that comes first has an empty prompt, which `transformers` can't render.
        raise KitError(
            "DATASET_INVALID",
            "A conversation starts with an assistant message. "
            "Add a user or system message before it.",
        )
    answers = [i for i, message in enumerate(messages) if is_learned(message)]
    masked = mask_answers(conversation, answers, tokenizer)
    if masked:
        return [masked]
    parts = [(conversation._replace(messages=messages[: i + 1]), i) for i in answers]
    sequences = [mask_answers(part, [i], tokenizer) for part, i in parts]
    if any(tokens is None for tokens in sequences):
        raise KitError(
            "DATASET_INVALID",
            "The model's chat template doesn't begin an assistant message with its generation "
            "prompt, so Kit can't tell the answer from the prompt. Use a model with another "
            "template.",
        )
    return [tokens for tokens in sequences if tokens is not None]


def mask_answers(conversation: Conversation, answers: list[int], tokenizer: Any) -> Tokens | None:
    """None if the template rewrites earlier turns."""
    text = render(conversation, tokenizer)
    spans = answer_spans(conversation, answers, text, tokenizer)
    return None if spans is None else mask_spans(text, spans, tokenizer)


def mask_spans(text: str, spans: list[tuple[int, int]], tokenizer: Any) -> Tokens:
    """A text's tokens, of which only the answers are learned.

    :param spans: the character range of each answer
    """
    encoded = encode(text, tokenizer, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = list(encoded["input_ids"]), encoded["offset_mapping"]
    learned = [False] * len(ids)
    stop_ids = stop_tokens_of(tokenizer)
    for begin, end in spans:
        for i, (first, last) in enumerate(offsets):
            # Byte-level offsets may exclude white space.
            if first < begin or last <= begin:
                continue
            learned[i] = last <= end or (first >= end and ids[i] in stop_ids)
            if last > end or ids[i] in stop_ids:
                break
    return Tokens(ids, learned)


def answer_spans(
    conversation: Conversation, answers: list[int], text: str, tokenizer: Any
) -> list[tuple[int, int]] | None:
    """The character range of each answer, from its generation prompt's end to its turn's end."""
    messages = conversation.messages
    spans: list[tuple[int, int]] = []
    for i in answers:
        prompt = render(
            conversation._replace(messages=messages[:i]), tokenizer, add_generation_prompt=True
        )
        is_last = i + 1 == len(messages)
        part = conversation._replace(messages=messages[: i + 1])
        answered = text if is_last else render(part, tokenizer)
        if not (text.startswith(answered) and answered.startswith(prompt)):
            return None
        spans.append((len(prompt), len(answered)))
    return spans


def render(
    conversation: Conversation,
    tokenizer: Any,
    add_generation_prompt: bool = False,
    continue_final_message: bool = False,
) -> str:
    """
    :param add_generation_prompt: whether to end with the start of an answer
    :param continue_final_message: whether the last message is to be continued
    """
    messages = adapt_messages(conversation, tokenizer.get_chat_template(tools=conversation.tools))

    def rendered(messages: list[Message]) -> str:
        with TEMPLATES.limit():
            text = tokenizer.apply_chat_template(
                messages,
                tools=conversation.tools,
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                continue_final_message=continue_final_message,
                **{**template_variables(tokenizer), **(conversation.kwargs or {})},
            )
        return str(text)

    try:
        return render_content(rendered, messages)
    except Exception as error:
        raise KitError(
            "DATASET_INVALID",
            f"The model's chat template refuses a conversation: {error}. "
            "Change its messages, or use a model with another template.",
            {"option": "messages"},
        ) from error


def render_content(rendered: Callable[[list[Message]], str], messages: list[Message]) -> str:
    """Retries with empty content if the template refuses None in messages that only call tools."""
    try:
        return rendered(messages)
    except Exception:
        if all(message["content"] is not None for message in messages):
            raise
        return rendered([message | {"content": message["content"] or ""} for message in messages])
