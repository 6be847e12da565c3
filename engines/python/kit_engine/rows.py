"""Reads and checks the rows of JSONL files, as engines/dataset/row.ts does here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, Message, is_learned
from .constants import CONSTANTS
from .ignored_keys import IgnoredKeys
from .row_object import (
    answer_messages_in,
    asked_once,
    fail,
    messages_in,
    question_in,
    read_objects,
    whole,
    with_system_of,
)
from .system import SYSTEM_KEYS

EXPECTED_ROW = CONSTANTS["expectedRow"]


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
    if "chosen" in row or "preferred_output" in row:
        fail(CONSTANTS["pairsRow"])
    if isinstance(row.get("label"), bool):
        fail(CONSTANTS["judgedRow"])
    tools = whole(row.get("tools")) or None
    more = ", tools" if tools else ""
    if "messages" in row:
        messages = with_system_of(row, messages_in("messages", row["messages"]))
        refuse_unlearned(messages)
        return Row("messages" + more, Conversation(messages, tools), ""), ["messages", *SYSTEM_KEYS]
    if "prompt" in row or "completion" in row:
        conversation = Conversation(conversation_of(row), tools)
        keys = ["prompt", "completion"]
        return Row(", ".join(keys) + more, conversation, ""), [*keys, *SYSTEM_KEYS]
    if "text" in row:
        return text_of(row), ["text"]
    fail(f'no "messages", "prompt" or "text"{CONSTANTS["otherNames"]}')


def conversation_of(row: dict[str, Any]) -> list[Message]:
    """The messages of a prompt and its completion."""
    for name, other in (("prompt", "completion"), ("completion", "prompt")):
        if name not in row:
            fail(f'a "{other}" without a "{name}"')
    parts = asked_once(row)
    question = with_system_of(row, question_in("prompt", parts["prompt"]))
    answer = answer_messages_in("completion", parts["completion"])
    refuse_unlearned(answer)
    return question + answer


def refuse_unlearned(messages: list[Message]) -> None:
    if all(message["role"] != "assistant" for message in messages):
        fail('no "assistant" message to learn')
    if not any(is_learned(message) for message in messages):
        fail('every answer has the "weight" 0')


def text_of(row: dict[str, Any]) -> Row:
    if not isinstance(row["text"], str):
        fail('"text" is not a string')
    if row.get("tools"):
        fail('a "text" takes no "tools"')
    return Row("text", None, whole(row["text"]))
