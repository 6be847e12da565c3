"""Rows at URLs, read only by a cluster's workers and only in Kit's own formats."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from ..process.errors import KitError
from .chat import Message, arguments_of, is_learned, read_json

ROLES = ("system", "developer", "user", "assistant", "tool")
EXTRAS = {"tools", "chat_template_kwargs"}
MESSAGE_KEYS = {
    *("role", "content", "name", "tool_calls", "tool_call_id", "weight"),
    *("reasoning_content", "reasoning", "thinking"),
}


def plain_row(line: str, where: str, formats: Sequence[str]) -> dict[str, Any]:
    """
    A row in one of Kit's own formats.

    :param formats: the allowed formats: `prompt, completion`
    :raises KitError: for any other row
    """
    try:
        row = read_json(line)
        # JSON can spell infinity and lone surrogates, which no model learns.
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        return validated(row, formats)
    except (ValueError, RecursionError) as error:
        problem = f"{where}: {error}"
        if isinstance(error, json.JSONDecodeError):
            problem = f"{where}:{error.colno}: not valid JSON ({error.msg})"
        raise KitError(
            "DATASET_INVALID",
            f"{problem}. At a URL, Kit reads only rows of {describe_formats(formats)}, with "
            "messages in OpenAI's format. Write them so, or "
            "download the file and use its local path.",
        ) from error


def describe_formats(formats: Sequence[str]) -> str:
    return " or ".join(f"{{{keys}}}" for keys in formats)


def validated(row: Any, formats: Sequence[str]) -> dict[str, Any]:
    if not isinstance(row, dict):
        fail("not a JSON object")
    row = without_empty(row)
    all_keys = [keys.split(", ") for keys in formats]
    keys = next((keys for keys in all_keys if {*keys} == {*row} - EXTRAS), [])
    if not keys or ("text" in row and {*row} & EXTRAS):
        fail(f"has {describe_formats([', '.join(row)])}")
    values = {name: value_of(name, row[name]) for name in keys}
    answers = [values[name] for name in ("chosen", "rejected", "completion") if name in values]
    if keys != ["prompt", "completion"] and any(map(is_empty, answers)):
        fail("an answer is empty")
    if "chosen" in values and values["chosen"] == values["rejected"]:
        fail('"chosen" and "rejected" are the same answer')
    tools = row.get("tools", [])
    if not (isinstance(tools, list) and all(map(is_tool, tools))):
        fail(
            '"tools" is not a list of {"type":"function","function":{"name":"…","parameters":{…}}}'
        )
    if not isinstance(row.get("chat_template_kwargs", {}), dict):
        fail('"chat_template_kwargs" is not an object')
    return values | {name: row[name] for name in ("tools", "chat_template_kwargs") if row.get(name)}


def value_of(name: str, value: Any) -> Any:
    if name == "label" and not isinstance(value, bool):
        fail('"label" is neither true nor false')
    if name == "text" and not isinstance(value, str):
        fail('"text" is not a string')
    if name in ("label", "text") or (isinstance(value, str) and name != "messages"):
        return value
    if not isinstance(value, list) or not value:
        fail(f'"{name}" is not a list of messages')
    messages = [message_of(f"{name}[{i}]", message) for i, message in enumerate(value)]
    if name == "prompt":
        return [m | {"weight": 0} if m["role"] == "assistant" else m for m in messages]
    ends = [messages[0]["role"], messages[-1]["role"]] if name != "messages" else []
    if any(role != "assistant" for role in ends) or not any(map(is_learned, messages)):
        fail(f'"{name}" has no answer to learn, or begins or ends with another role')
    return messages


def message_of(name: str, value: Any) -> Message:
    message = without_empty(value) if isinstance(value, dict) else {}
    role, content, calls = (message.get(key) for key in ("role", "content", "tool_calls"))
    is_answer, weight = role == "assistant", message.pop("weight", 1)
    has_valid_calls = calls is None or (
        is_answer and isinstance(calls, list) and all(map(is_call, calls))
    )
    has_content = isinstance(content, str) or (content is None and calls is not None)
    if role not in ROLES or {*message} - MESSAGE_KEYS or not has_content or not has_valid_calls:
        fail(f"{name} is not a plain message")
    if weight not in (0, 1):
        fail(f'{name} has a "weight" that is neither 0 nor 1')
    return message | ({"weight": 0} if is_answer and weight == 0 else {})


def is_empty(answer: str | list[Message]) -> bool:
    messages = [{"content": answer}] if isinstance(answer, str) else answer
    answers = [m for m in messages if m.get("role", "assistant") == "assistant"]
    return any("tool_calls" not in m and not m["content"].strip() for m in answers)


def without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """Drops null and empty lists, which libraries write for missing keys."""
    return {key: item for key, item in value.items() if item is not None and item != []}


def is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return (
        isinstance(function, dict)
        and isinstance(function.get("name"), str)
        and arguments_of(function.get("arguments")) is not None
    )


def is_tool(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return (
        isinstance(function, dict)
        and tool.get("type") == "function"
        and isinstance(function.get("name"), str)
        and isinstance(function.get("parameters"), dict | None)
    )


def fail(problem: str) -> NoReturn:
    raise ValueError(problem)
