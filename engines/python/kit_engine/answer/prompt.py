"""The tokens of a prompt."""

from typing import Any

from ..data.chat import Conversation, as_message, tools_unsupported
from ..data.dropped_parts import refuse_dropped_parts
from ..data.markup import markup_of
from ..data.masks import render
from ..data.text_encoder import encode_text
from ..process.limits import encode


def prompt_ids(request: dict[str, Any], tokenizer: Any, answer_start: str = "") -> list[int]:
    """:param answer_start: the beginning of the answer"""
    messages = request.get("messages")
    if messages is None:
        style = tokenizer.init_kwargs.get("prompt_style", "message")
        prompt = request["prompt"]
        is_rendered = not request.get("tools") and markup_of(tokenizer).is_rendered(prompt)
        is_text = style == "text" or tokenizer.chat_template is None
        if request.get("raw") or is_text or is_rendered:
            return encode_text(prompt + answer_start, tokenizer)
        messages = [{"role": "user", "content": request["prompt"]}]
    conversation = Conversation(
        [as_message(message) for message in messages],
        request.get("tools") or None,
        request.get("chatTemplateKwargs"),
    )
    if not request.get("lenient"):
        refuse_dropped_parts(conversation.messages, conversation.kwargs or {}, tokenizer)
    if tokenizer.chat_template is None:
        if conversation.tools:
            raise tools_unsupported()
        text = "".join(message["content"] or "" for message in conversation.messages)
        return encode_text(text + answer_start, tokenizer)
    # A final assistant message is continued.
    last = conversation.messages[-1]
    continues = last["role"] == "assistant" and "tool_calls" not in last
    text = render(
        conversation,
        tokenizer,
        add_generation_prompt=not continues,
        continue_final_message=continues,
    )
    return list(encode(text + answer_start, tokenizer, add_special_tokens=False)["input_ids"])


def too_long_fault(request: dict[str, Any]) -> dict[str, Any]:
    """The `fault` of a KitError for a prompt that leaves no room for an answer."""
    return {"option": "messages" if request.get("messages") else "prompt", "isTooLong": True}
