"""Messages and tools as OpenAI writes them, as protocol/chat.ts does here."""

import json
from typing import Any, NamedTuple

from .errors import KitError
from .learned_marks import is_marked_unlearned, problem_of_marks

# As templates take it: `content` is None beside `tool_calls` alone.
Message = dict[str, Any]

# Keys that chat templates of the field read as they are.
PASSED = ("name", "tool_call_id", "reasoning_content", "reasoning", "thinking")
ROLES = ("system", "developer", "user", "assistant", "tool")
# What other tools call the roles.
ROLE_NAMES = {
    "human": "user",
    "observation": "tool",
    "tool_response": "tool",
    **dict.fromkeys(
        ("gpt", "bot", "model", "chatbot", "chatgpt", "bing", "bard", "ai"), "assistant"
    ),
}
NEEDED = 'needs a "role" (system, developer, user, assistant or tool) and a "content" string'
WITHOUT_TOOLS = (
    "The model's chat template takes no tools. Use a model whose template does, or remove tools "
    "and tool_calls."
)


class Conversation(NamedTuple):
    messages: list[Message]
    tools: list[dict[str, Any]] | None = None
    # Variables of the chat template.
    kwargs: dict[str, Any] | None = None


def problem_of_message(message: Any) -> str | None:
    if not isinstance(message, dict):
        return NEEDED
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    if role == "function" or message.get("function_call") is not None:
        return (
            'has a "function_call", which OpenAI replaced: write "tool_calls", and its answer as '
            'role "tool"'
        )
    if not isinstance(role, str) or role not in ROLES:
        return problem_of_role(role)
    if message.get("refusal") is not None:
        return 'has a "refusal", which no chat template writes: write it as "content"'
    wrong_mark = problem_of_marks(message) if role == "assistant" else None
    if wrong_mark:
        return wrong_mark
    if calls is not None and not isinstance(calls, list):
        return 'has "tool_calls" that are not a list'
    if calls and role != "assistant":
        return 'has "tool_calls", which only the assistant makes'
    for call in calls or []:
        problem = problem_of_call(call)
        if problem:
            return problem
    if isinstance(content, str) or (content is None and calls):
        return None
    return problem_of_parts(content) if isinstance(content, list) else NEEDED


def problem_of_role(role: Any) -> str:
    if not isinstance(role, str):
        return NEEDED
    meant = role.lower() if role.lower() in ROLES else ROLE_NAMES.get(role.lower())
    choice = f'"{meant}"' if meant else "system, developer, user, assistant or tool"
    return f"has the role {json.dumps(role, ensure_ascii=False)}: write {choice}"


def problem_of_parts(parts: list[Any]) -> str | None:
    for part in parts:
        is_part = isinstance(part, dict)
        if not is_part or part.get("type") != "text" or not isinstance(part.get("text"), str):
            kind = part.get("type") if is_part else None
            if is_part and kind is None:
                kind = next(iter(part), None)
            if is_part and part.get("type") == "text":
                return 'has a part of type "text" whose "text" is not a string'
            named = json.dumps("?" if kind is None else kind, ensure_ascii=False)
            return f'has a part of type {named}, and Kit reads parts of type "text" alone'
    return None


def problem_of_call(call: Any) -> str | None:
    fields = call if isinstance(call, dict) else {}
    called = fields.get("function")
    called = called if isinstance(called, dict) else {}
    name = called.get("name")
    if fields.get("type", "function") not in ("function", None) or not isinstance(name, str):
        return (
            'has a call that is not {"type":"function","function":{"name":"…","arguments":"{…}"}}'
        )
    if arguments_of(called.get("arguments")) is not None:
        return None
    return f'has a call of {name} with "arguments" that are not a JSON object'


def arguments_of(given: Any) -> dict[str, Any] | None:
    """A call's arguments as an object; None for others. No arguments are none."""
    if given is None or given == "":
        return {}
    if not isinstance(given, str):
        return given if isinstance(given, dict) else None
    try:
        parsed = read_json(given)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def read_json(text: str) -> Any:
    return json.loads(text, parse_int=integer, parse_constant=refuse)


def integer(digits: str) -> int | float:
    """A number may have more digits than Python's own have by default."""
    return int(digits) if len(digits) < 4_000 else float(digits)


def refuse(constant: str) -> Any:
    """Refuses NaN and Infinity, which Python accepts although JSON has neither."""
    raise ValueError(constant)


def problem_of_tools(row: dict[str, Any]) -> str | None:
    functions, tools = row.get("functions"), row.get("tools")
    if isinstance(functions, list) and functions:
        return '"functions" were replaced by OpenAI: write them as "tools"'
    if tools is None:
        return None
    if not isinstance(tools, list):
        return '"tools" is not a list'
    for i, tool in enumerate(tools):
        if not is_tool(tool):
            form = '{"type":"function","function":{"name":"…","parameters":{…}}}'
            return f"tools[{i}] is not {form}"
    return None


def is_tool(tool: Any) -> bool:
    described = tool.get("function") if isinstance(tool, dict) else None
    return (
        isinstance(described, dict)
        and tool.get("type") == "function"
        and isinstance(described.get("name"), str)
        and isinstance(described.get("parameters"), dict | None)
    )


def as_message(message: dict[str, Any]) -> Message:
    """A good message: a list of parts is a text, and what is null is not there."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content)
    read: Message = {"role": message["role"], "content": content}
    if message.get("tool_calls"):
        read["tool_calls"] = message["tool_calls"]
    if message["role"] == "assistant" and is_marked_unlearned(message):
        read["weight"] = 0
    return read | {key: message[key] for key in PASSED if message.get(key) is not None}


def is_learned(message: Message) -> bool:
    return message["role"] == "assistant" and message.get("weight") != 0


def without_tools() -> KitError:
    return KitError("DATASET_INVALID", WITHOUT_TOOLS, {"option": "tools"})


def adapted(conversation: Conversation, template: str) -> list[Message]:
    """The messages as a template wants them.

    :raises KitError: for tools of a template that drops them in silence
    """
    has_calls = any("tool_calls" in message for message in conversation.messages)
    if (conversation.tools and "tools" not in template) or (
        has_calls and "tool_calls" not in template
    ):
        raise without_tools()
    return [adapt(message, template) for message in conversation.messages]


def adapt(message: Message, template: str) -> Message:
    wanted = {key: value for key, value in message.items() if key != "weight"}
    if wanted["role"] == "developer" and "developer" not in template:
        wanted["role"] = "system"
    # A template that takes a text, too, writes it as it is.
    if "tool_calls" in wanted and "arguments is string" not in template:
        wanted["tool_calls"] = [with_parsed_arguments(call) for call in wanted["tool_calls"]]
    return wanted


def with_parsed_arguments(call: dict[str, Any]) -> dict[str, Any]:
    called = call["function"]
    return call | {"function": called | {"arguments": arguments_of(called.get("arguments"))}}
