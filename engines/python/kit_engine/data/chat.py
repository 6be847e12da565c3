"""Messages and tools, as in protocol/chat.ts."""

import json
import re
from typing import Any, NamedTuple

from ..process.constants import CONSTANTS
from ..process.errors import KitError

# Matches templates that concatenate arguments with `+`, such as DeepSeek's.
JOINED_ARGUMENTS = re.compile(CONSTANTS["joinedArguments"])

# As templates expect it: `content` is None if there are only `tool_calls`.
Message = dict[str, Any]

TOOLS_UNSUPPORTED = (
    "The model's chat template doesn't support tools. Use a model whose template does, or remove "
    "tools and tool_calls."
)


class Conversation(NamedTuple):
    messages: list[Message]
    tools: list[dict[str, Any]] | None = None
    # Variables of the chat template.
    kwargs: dict[str, Any] | None = None


def arguments_of(value: Any) -> dict[str, Any] | None:
    """A call's arguments as an object, empty if it has none; None if they aren't an object."""
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        return value if isinstance(value, dict) else None
    try:
        parsed = read_json(value)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def read_json(text: str) -> Any:
    return json.loads(text, parse_int=parse_integer, parse_constant=refuse_constant)


def parse_integer(digits: str) -> int | float:
    """Parses an integer with more digits than Python's limit as a float."""
    return int(digits) if len(digits) < 4_000 else float(digits)


def refuse_constant(constant: str) -> Any:
    """Refuses NaN and Infinity, which Python accepts but JSON lacks."""
    raise ValueError(f"{constant} is not JSON")


def as_message(message: Message) -> Message:
    """A message in Kit's format, in which content is missing if it only calls tools."""
    return {"role": message["role"], "content": None} | message


def is_learned(message: Message) -> bool:
    return message["role"] == "assistant" and message.get("weight") != 0


def tools_unsupported() -> KitError:
    return KitError("DATASET_INVALID", TOOLS_UNSUPPORTED, {"option": "tools"})


def adapt_messages(conversation: Conversation, template: str) -> list[Message]:
    """The messages as a template expects them.

    :raises KitError: for tools, if the template would silently drop them
    """
    has_calls = any("tool_calls" in message for message in conversation.messages)
    if (conversation.tools and "tools" not in template) or (
        has_calls and "tool_calls" not in template
    ):
        raise tools_unsupported()
    return [adapt(message, template) for message in conversation.messages]


def adapt(message: Message, template: str) -> Message:
    result = {key: value for key, value in message.items() if key != "weight"}
    if result["role"] == "developer" and "developer" not in template:
        result["role"] = "system"
    # Templates that accept text write it unchanged.
    takes_text = "arguments is string" in template or JOINED_ARGUMENTS.search(template)
    if "tool_calls" in result and not takes_text:
        result["tool_calls"] = [with_parsed_arguments(call) for call in result["tool_calls"]]
    return result


def with_parsed_arguments(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return call | {"function": function | {"arguments": arguments_of(function.get("arguments"))}}
