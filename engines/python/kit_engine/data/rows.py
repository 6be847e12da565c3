"""Reads materialized rows, and plain rows at URLs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, Message, as_message, is_learned, read_json
from .lines import read_lines
from .plain_rows import plain_row


@dataclass
class Row:
    # Its keys, as in the file: `prompt, completion`.
    keys: str
    # Of a row of plain text; otherwise empty.
    text: str
    # One, or two: with the chosen and with the rejected answer. None for plain text.
    conversations: list[Conversation]
    # Whether the answer is labelled undesirable.
    is_undesirable: bool = False
    # File and line.
    where: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it is plain text, which is split into chunks rather than truncated."""
        return not self.conversations

    def answers(self) -> list[str]:
        """The learned answers."""
        messages = [m for first in self.conversations[:1] for m in first.messages]
        return [m["content"] for m in messages if is_learned(m) and m["content"] is not None]


def read_rows(files: list[str], formats: Sequence[str]) -> Iterator[Row]:
    """
    :param formats: formats of plain rows: `prompt, completion`
    :raises KitError: for a file that can't be read, or a row at a URL that isn't plain
    """
    for file in files:
        is_url = "://" in file
        for line, where in read_lines(file):
            row = row_of(plain_row(line, where, formats) if is_url else read_json(line))
            row.where = where
            yield row


def row_of(row: dict[str, Any]) -> Row:
    """:param row: as Kit writes it"""
    prompt = messages_of("user", row.get("prompt", []))
    names = [name for name in ("messages", "completion", "chosen", "rejected") if name in row]
    answers = [messages_of("assistant", row[name]) for name in names]
    extras = row.get("tools"), row.get("chat_template_kwargs")
    conversations = [Conversation(prompt + answer, *extras) for answer in answers]
    return Row(", ".join(row), row.get("text", ""), conversations, row.get("label") is False)


def messages_of(role: str, content: str | list[Message]) -> list[Message]:
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    return [as_message(message) for message in content]
