"""The system's text beside a row's messages, as protocol/system.ts reads it here."""

from typing import Any

from .chat import Message, as_message, problem_of_message

SYSTEM_KEYS = ("system", "system_prompt")


def problem_of_system(row: dict[str, Any], messages: list[Message]) -> str | None:
    key = key_of(row)
    if key is None:
        return None
    given = {"role": "system", "content": row[key]}
    if problem_of_message(given):
        return f'"{key}" is not text'
    if not is_system(messages) or messages[0]["content"] == as_message(given)["content"]:
        return None
    return f'a "{key}" and a message of the role "system": leave one of them out'


def with_system(row: dict[str, Any], messages: list[Message]) -> list[Message]:
    key = key_of(row)
    if key is None or is_system(messages):
        return messages
    return [as_message({"role": "system", "content": row[key]}), *messages]


def has_system(row: dict[str, Any]) -> bool:
    return key_of(row) is not None


def key_of(row: dict[str, Any]) -> str | None:
    return next((key for key in SYSTEM_KEYS if not is_blank(row.get(key))), None)


def is_system(messages: list[Message]) -> bool:
    return bool(messages) and messages[0]["role"] in ("system", "developer")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
