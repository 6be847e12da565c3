"""How a model's chat template writes tool calls."""

from typing import Any

from ..data.chat import Conversation
from ..data.masks import render
from ..process.errors import KitError
from .loaded import Loaded


def calls_text(calls: list[dict[str, Any]], loaded: Loaded) -> str:
    """The calls as the template writes them, without a stop token; empty if it supports none."""
    tokenizer = loaded.tokenizer
    if tokenizer.chat_template is None:
        return ""
    names = [call["function"]["name"] for call in calls]
    parameters = {"type": "object", "properties": {}}
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": name, "parameters": parameters},
        }
        for name in names
    ]
    question = {"role": "user", "content": "?"}
    answer = {"role": "assistant", "content": "", "tool_calls": calls}
    try:
        prompt = render(Conversation([question], tools), tokenizer, add_generation_prompt=True)
        conversation = render(Conversation([question, answer], tools), tokenizer)
    except KitError:
        # The template supports no tools, or no parallel calls.
        return ""
    if not conversation.startswith(prompt):
        return ""
    rendered = conversation[len(prompt) :]
    texts = [loaded.token_bytes.of(i).decode("utf-8", "replace") for i in loaded.stop_token_ids]
    positions = [rendered.find(text) for text in texts if text]
    return rendered[: min([len(rendered), *(position for position in positions if position >= 0)])]


def specials_of(loaded: Loaded) -> list[tuple[int, str]]:
    """Special tokens other than stop tokens, with their texts."""
    return [
        (token, str(added.content))
        for token, added in loaded.tokenizer.added_tokens_decoder.items()
        if added.special and token not in loaded.stop_token_ids and token < len(loaded.suppressed)
    ]
