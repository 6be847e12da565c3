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
        return checked(row, formats)
    except (ValueError, RecursionError) as error:
        problem = f"{where}: {error}"
        if isinstance(error, json.JSONDecodeError):
            problem = f"{where}:{error.colno}: not valid JSON ({error.msg})"
        raise KitError(
            "DATASET_INVALID",
            f"{problem}. At a URL, Kit reads only rows of {describe_formats(formats)}, with "
            "messages as OpenAI writes them. Write them so, or "
            "download the file and name it locally.",
        ) from error


def describe_formats(formats: Sequence[str]) -> str:
    return " or ".join(f"{{{keys}}}" for keys in formats)


def checked(row: Any, formats: Sequence[str]) -> dict[str, Any]:
    if not isinstance(row, dict):
        fail("not a JSON object")
    row = without_empty(row)
    keys = next((one.split(", ") for one in formats if {*one.split(", ")} == {*row} - EXTRAS), [])
    if not keys or ("text" in row and {*row} & EXTRAS):
        fail(f"has {describe_formats([', '.join(row)])}")
    read = {name: value_of(name, row[name]) for name in keys}
    answers = [read[name] for name in ("chosen", "rejected", "completion") if name in read]
    if keys != ["prompt", "completion"] and any(map(is_empty, answers)):
        fail("an answer is empty")
    if "chosen" in read and read["chosen"] == read["rejected"]:
        fail('"chosen" and "rejected" are the same answer')
    tools = row.get("tools", [])
    if not (isinstance(tools, list) and all(map(is_tool, tools))):
        fail(
            '"tools" is not a list of {"type":"function","function":{"name":"…","parameters":{…}}}'
        )
    if not isinstance(row.get("chat_template_kwargs", {}), dict):
        fail('"chat_template_kwargs" is not an object')
    return read | {name: row[name] for name in ("tools", "chat_template_kwargs") if row.get(name)}


def value_of(name: str, value: Any) -> Any:
    if name == "label" and not isinstance(value, bool):
        fail('"label" is neither true nor false')
    if name == "text" and not isinstance(value, str):
        fail('"text" is not a string')
    if name in ("label", "text") or (isinstance(value, str) and name != "messages"):
        return value
    if not isinstance(value, list) or not value:
        fail(f'"{name}" is not a list of messages')
    messages = [message_of(f"{name}[{i}]", one) for i, one in enumerate(value)]
    if name == "prompt":
        return [one | {"weight": 0} if one["role"] == "assistant" else one for one in messages]
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
    answers = [one for one in messages if one.get("role", "assistant") == "assistant"]
    return any("tool_calls" not in one and not one["content"].strip() for one in answers)


def without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """Libraries write missing keys as null or an empty list."""
    return {key: one for key, one in value.items() if one is not None and one != []}


def is_call(call: Any) -> bool:
    called = call.get("function") if isinstance(call, dict) else None
    return (
        isinstance(called, dict)
        and isinstance(called.get("name"), str)
        and arguments_of(called.get("arguments")) is not None
    )


def is_tool(tool: Any) -> bool:
    described = tool.get("function") if isinstance(tool, dict) else None
    return (
        isinstance(described, dict)
        and tool.get("type") == "function"
        and isinstance(described.get("name"), str)
        and isinstance(described.get("parameters"), dict | None)
    )


def fail(problem: str) -> NoReturn:
    raise ValueError(problem)
