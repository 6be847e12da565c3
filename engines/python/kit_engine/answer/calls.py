"""How a model's chat template writes tool calls."""

from typing import Any

from ..data.chat import Conversation
from ..data.masks import render
from ..process.errors import KitError
from .loaded import Loaded


def calls_text(calls: list[dict[str, Any]], loaded: Loaded) -> str:
    """An answer of tool calls, without its end; empty if the template doesn't support them."""
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
    called = {"role": "assistant", "content": "", "tool_calls": calls}
    try:
        opened = render(Conversation([question], tools), tokenizer, add_generation_prompt=True)
        whole = render(Conversation([question, called], tools), tokenizer)
    except KitError:
        # The template supports no tools, or no parallel calls.
        return ""
    if not whole.startswith(opened):
        return ""
    written = whole[len(opened) :]
    texts = [loaded.token_bytes.of(i).decode("utf-8", "replace") for i in loaded.stop_token_ids]
    positions = [written.find(text) for text in texts if text]
    return written[: min([len(written), *(one for one in positions if one >= 0)])]


def specials_of(loaded: Loaded) -> list[tuple[int, str]]:
    """Special tokens other than stop tokens, with their texts."""
    return [
        (token, str(one.content))
        for token, one in loaded.tokenizer.added_tokens_decoder.items()
        if one.special and token not in loaded.stop_token_ids and token < len(loaded.suppressed)
    ]
