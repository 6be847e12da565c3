"""Reads and checks the rows of JSONL files, as engines/dataset/row.ts does here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .chat import (
    Conversation,
    as_message,
    is_learned,
    is_weight,
    problem_of_message,
    problem_of_tools,
    read_json,
)
from .constants import CONSTANTS
from .errors import KitError
from .ignored_keys import IgnoredKeys
from .lines import read_lines

EXPECTED_ROW = CONSTANTS["expectedRow"]
# Parts between commas, semicolons or tabs without a space after them, which prose would have.
PARTS = re.compile(CONSTANTS["csvLine"])


@dataclass
class Row:
    """A conversation, or a text."""

    # Its names in the file: `prompt, completion`.
    keys: str
    conversation: Conversation | None
    text: str
    # File and line.
    where: str = ""

    def answers(self) -> list[str]:
        """Those that are learned."""
        messages = self.conversation.messages if self.conversation else []
        return [one["content"] or "" for one in messages if is_learned(one)]


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
            yield row_of(row, where)


def parse_row(text: str, where: str) -> dict[str, Any]:
    try:
        row = read_json(text)
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


def problem_of(row: Any) -> str | None:
    if not isinstance(row, dict):
        return "not a JSON object"
    problem = problem_of_tools(row)
    if problem:
        return problem
    weight = row.get("weight")
    if is_weight(weight) and weight == 0:
        weightless: str = CONSTANTS["weightlessRow"]
        return weightless
    if "messages" in row:
        return problem_of_messages(row["messages"])
    if "prompt" in row or "completion" in row:
        return problem_of_prompt(row)
    if "text" in row:
        if not isinstance(row["text"], str):
            return '"text" is not a string'
        return 'a "text" takes no "tools"' if row.get("tools") else None
    return 'no "messages", "prompt" or "text"'


def problem_of_messages(messages: Any) -> str | None:
    if not isinstance(messages, list) or not messages:
        return '"messages" is not a list of messages'
    for i, message in enumerate(messages):
        problem = problem_of_message(message)
        if problem:
            return f"messages[{i}] {problem}"
    if all(message["role"] != "assistant" for message in messages):
        return 'no "assistant" message to learn'
    if not any(is_learned(message) for message in messages):
        return 'every answer has the "weight" 0'
    return None


def problem_of_prompt(row: dict[str, Any]) -> str | None:
    for name, other in (("prompt", "completion"), ("completion", "prompt")):
        if name not in row:
            return f'a "{other}" without a "{name}"'
    for name in ("prompt", "completion"):
        if not isinstance(row[name], str):
            return f'"{name}" is not a string'
    return None


def row_of(row: dict[str, Any], where: str = "") -> Row:
    tools = whole(row.get("tools")) or None
    keys = ", tools" if tools else ""
    if "messages" in row:
        messages = [whole(as_message(message)) for message in row["messages"]]
        return Row("messages" + keys, Conversation(messages, tools), "", where)
    if "prompt" in row:
        asked = {"role": "user", "content": whole(row["prompt"])}
        answered = {"role": "assistant", "content": whole(row["completion"])}
        return Row("prompt, completion" + keys, Conversation([asked, answered], tools), "", where)
    return Row("text", None, whole(row["text"]), where)


def whole(value: Any) -> Any:
    """JSON can spell half a character, which UTF-8 cannot: it becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict):
        return {whole(key): whole(one) for key, one in value.items()}
    return value
