"""The tokens that an answer goes on from."""

from typing import Any

from .chat import WITHOUT_TOOLS, Conversation, as_message
from .errors import KitError
from .limits import encode
from .masks import render


def prompt_ids(request: dict[str, Any], tokenizer: Any, begun: str = "") -> list[int]:
    """
    :param begun: the beginning of the answer
    """
    messages = request.get("messages")
    if messages is None:
        style = tokenizer.init_kwargs.get("prompt_style", "message")
        if request.get("raw") or style == "text" or tokenizer.chat_template is None:
            return list(encode(request["prompt"] + begun, tokenizer)["input_ids"])
        messages = [{"role": "user", "content": request["prompt"]}]
    conversation = Conversation(
        [as_message(message) for message in messages], request.get("tools") or None
    )
    if tokenizer.chat_template is None:
        if conversation.tools:
            raise KitError("DATASET_INVALID", WITHOUT_TOOLS)
        text = "".join(one["content"] or "" for one in conversation.messages)
        return list(encode(text + begun, tokenizer)["input_ids"])
    # An answer at the end stays open, to be continued.
    last = conversation.messages[-1]
    goes_on = last["role"] == "assistant" and "tool_calls" not in last
    text = render(conversation, tokenizer, opens=not goes_on, goes_on=goes_on)
    return list(encode(text + begun, tokenizer, add_special_tokens=False)["input_ids"])
