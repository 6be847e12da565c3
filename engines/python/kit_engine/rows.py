"""Reads and checks the rows of JSONL files, as engines/dataset/row.ts does here."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from .constants import CONSTANTS
from .errors import KitError
from .ignored_keys import IgnoredKeys
from .lines import read_lines

Message = dict[str, str]

EXPECTED_ROW = CONSTANTS["expectedRow"]
# Parts between commas, semicolons or tabs without a space after them, which prose would have.
PARTS = re.compile(CONSTANTS["csvLine"])
ROLES = ("system", "user", "assistant")


@dataclass
class Row:
    """A conversation, or a text."""

    # Its names in the file: `prompt, completion`.
    keys: str
    messages: list[Message] | None
    text: str


def read_rows(files: list[str], ignored: IgnoredKeys) -> Iterator[Row]:
    """
    :param ignored: counts those of rows at URLs; Kit has counted those of the other files
    :raises KitError: for a file that cannot be read, or a row that cannot be learned
    """
    for file in files:
        is_url = "://" in file
        for text, where in read_lines(file):
            row = parse_row(text, where)
            if is_url:
                ignored.add(row)
            yield row_of(row)


def parse_row(text: str, where: str) -> dict[str, Any]:
    try:
        # A number may have more digits than Python's own have by default.
        row = json.loads(text, parse_int=float, parse_constant=refuse)
        problem = problem_of(row)
    except (ValueError, RecursionError):
        problem = CONSTANTS["csvProblem"] if is_csv(text, where) else "not valid JSON"
    if problem:
        raise KitError("DATASET_INVALID", f"{where}: {problem}. Write {EXPECTED_ROW}.")
    checked: dict[str, Any] = row
    return checked


def is_csv(line: str, where: str) -> bool:
    """As engines/dataset/csv.ts: by the file's name, or as its first line."""
    path, _, number = where.rpartition(":")
    is_named = path.lower().endswith((".csv", ".tsv"))
    return is_named or (number == "1" and PARTS.fullmatch(line) is not None)


def refuse(constant: str) -> NoReturn:
    """Refuses NaN and Infinity, which Python accepts although JSON has neither."""
    raise ValueError(constant)


def problem_of(row: Any) -> str | None:
    if not isinstance(row, dict):
        return "not a JSON object"
    if has_tools(row):
        return "the row has tools, which Kit cannot teach yet"
    if "messages" in row:
        return problem_of_messages(row["messages"])
    if "prompt" in row or "completion" in row:
        return problem_of_prompt(row)
    if "text" in row:
        return None if isinstance(row["text"], str) else '"text" is not a string'
    return 'no "messages", "prompt" or "text"'


def has_tools(row: dict[str, Any]) -> bool:
    messages = row.get("messages")
    return is_filled(row.get("tools")) or (
        isinstance(messages, list) and any(is_call(message) for message in messages)
    )


def is_call(message: Any) -> bool:
    return isinstance(message, dict) and (
        message.get("role") == "tool" or is_filled(message.get("tool_calls"))
    )


def is_filled(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def problem_of_messages(messages: Any) -> str | None:
    if not is_filled(messages):
        return '"messages" is not a list of messages'
    for i, message in enumerate(messages):
        if not is_message(message):
            return (
                f'messages[{i}] needs a "role" (system, user or assistant) and a "content" string'
            )
    if all(message["role"] != "assistant" for message in messages):
        return 'no "assistant" message to learn'
    for i, message in enumerate(messages):
        if is_unlearned(message):
            return f'messages[{i}] has a "weight" other than 1, and Kit learns every answer in full'
    return None


def is_unlearned(message: dict[str, Any]) -> bool:
    """OpenAI's rows say so of single answers. Other messages are never learned."""
    weight = message.get("weight")
    return message["role"] == "assistant" and weight is not None and (weight is True or weight != 1)


def is_message(message: Any) -> bool:
    is_whole = isinstance(message, dict) and isinstance(message.get("content"), str)
    return is_whole and message.get("role") in ROLES


def problem_of_prompt(row: dict[str, Any]) -> str | None:
    for name, other in (("prompt", "completion"), ("completion", "prompt")):
        if name not in row:
            return f'a "{other}" without a "{name}"'
    for name in ("prompt", "completion"):
        if not isinstance(row[name], str):
            return f'"{name}" is not a string'
    return None


def row_of(row: dict[str, Any]) -> Row:
    if "messages" in row:
        return Row("messages", [message_of(one) for one in row["messages"]], "")
    if "prompt" in row:
        asked = {"role": "user", "content": whole(row["prompt"])}
        answered = {"role": "assistant", "content": whole(row["completion"])}
        return Row("prompt, completion", [asked, answered], "")
    return Row("text", None, whole(row["text"]))


def message_of(message: dict[str, Any]) -> Message:
    return {"role": message["role"], "content": whole(message["content"])}


def whole(text: str) -> str:
    """JSON can spell half a character, which UTF-8 cannot: it becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
