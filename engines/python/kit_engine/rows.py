"""The rows of JSONL files. Kit has checked each of them, so nothing is refused here."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, str]


@dataclass
class Row:
    """A conversation, or a text."""

    # Its names in the file: `prompt, completion`.
    keys: str
    messages: list[Message] | None
    text: str


def read_rows(files: list[str]) -> Iterator[Row]:
    for file in files:
        with open(file, "rb") as lines:
            for line in lines:
                # JavaScript's trim() takes a byte order mark for white space, too.
                text = line.decode().strip().lstrip("\ufeff").strip()
                if text:
                    yield row_of(json.loads(text))


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
