"""Reads and checks the rows of JSONL files, as engines/dataset/row.ts does here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, as_message, is_learned, problem_of_message
from .constants import CONSTANTS
from .ignored_keys import IgnoredKeys
from .row_object import fail, read_objects, whole

EXPECTED_ROW = CONSTANTS["expectedRow"]
FORMS = (("messages",), ("prompt", "completion"), ("text",))


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
    """:raises KitError: for a file that cannot be read, or a row that cannot be learned"""
    return read_objects(files, ignored, EXPECTED_ROW, checked_row)


def checked_row(row: dict[str, Any]) -> tuple[Row, Sequence[str]]:
    problem = problem_of(row)
    if problem:
        fail(problem)
    return row_of(row), next(form for form in FORMS if form[0] in row)


def problem_of(row: dict[str, Any]) -> str | None:
    if "chosen" in row or "preferred_output" in row:
        pairs: str = CONSTANTS["pairsRow"]
        return pairs
    if isinstance(row.get("label"), bool):
        judged: str = CONSTANTS["judgedRow"]
        return judged
    if "messages" in row:
        return problem_of_messages(row["messages"])
    if "prompt" in row or "completion" in row:
        return problem_of_prompt(row)
    if "text" in row:
        if not isinstance(row["text"], str):
            return '"text" is not a string'
        return 'a "text" takes no "tools"' if row.get("tools") else None
    return f'no "messages", "prompt" or "text"{CONSTANTS["otherNames"]}'


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


def row_of(row: dict[str, Any]) -> Row:
    tools = whole(row.get("tools")) or None
    keys = ", tools" if tools else ""
    if "messages" in row:
        messages = [whole(as_message(message)) for message in row["messages"]]
        return Row("messages" + keys, Conversation(messages, tools), "")
    if "prompt" in row:
        asked = {"role": "user", "content": whole(row["prompt"])}
        answered = {"role": "assistant", "content": whole(row["completion"])}
        return Row("prompt, completion" + keys, Conversation([asked, answered], tools), "")
    return Row("text", None, whole(row["text"]))
