"""Answers that were judged good or bad, as engines/dataset/judged.ts reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, Message
from .constants import CONSTANTS
from .ignored_keys import IgnoredKeys
from .row_object import (
    answer_in,
    asked_once,
    fail,
    messages_in,
    question_in,
    read_objects,
    whole,
    with_system_of,
    words_of,
)
from .system import SYSTEM_KEYS

EXPECTED_JUDGED = CONSTANTS["expectedJudged"]
# The labels of JSON, of databases, and of tables whose cells are text.
LABELS = {
    **dict.fromkeys((True, "true", "1"), True),
    **dict.fromkeys((False, "false", "0"), False),
}


@dataclass
class Judged:
    """A question, an answer to it, and whether that is good."""

    prompt: list[Message]
    completion: list[Message]
    label: bool
    tools: list[dict[str, Any]] | None = None
    # File and line.
    where: str = ""

    @property
    def keys(self) -> str:
        return f"prompt, completion, label{', tools' * (self.tools is not None)}"

    def answers(self) -> list[str]:
        return words_of(self.completion)

    def conversation(self) -> Conversation:
        return Conversation(self.prompt + self.completion, self.tools)


def read_judged(files: list[str], ignored: IgnoredKeys) -> Iterator[Judged]:
    """:raises KitError: for a file that cannot be read, or a row that is no judged answer"""
    return read_objects(files, ignored, EXPECTED_JUDGED, judged_of)


def judged_of(row: dict[str, Any]) -> tuple[Judged, tuple[str, ...]]:
    if "chosen" in row or "preferred_output" in row:
        fail('two answers, which the objective "dpo" learns from, not "kto"')
    if "label" not in row:
        fail(f'no "label" that says whether the answer is good{CONSTANTS["otherNames"]}')
    given = row["label"]
    is_cell = isinstance(given, str | int | float)
    label = LABELS.get(given.lower() if isinstance(given, str) else given) if is_cell else None
    if label is None:
        fail('"label" is neither true nor false')
    parts = last_answer(row["messages"]) if "messages" in row else asked_once(row)
    if "prompt" not in parts:
        fail(f'no "prompt" or "messages"{CONSTANTS["otherNames"]}')
    if "completion" not in parts:
        fail('a "prompt" without a "completion"')
    judged = Judged(
        with_system_of(row, question_in("prompt", parts["prompt"])),
        answer_in("completion", parts["completion"]),
        label,
        whole(row.get("tools")) or None,
    )
    form = ("messages",) if "messages" in row else ("prompt", "completion")
    return judged, (*form, "label", *SYSTEM_KEYS)


def last_answer(given: Any) -> dict[str, list[Message]]:
    """The last message is what was judged."""
    messages = messages_in("messages", given)
    if messages[-1]["role"] != "assistant":
        fail('"messages" does not end with an "assistant" message')
    if len(messages) == 1:
        fail('"messages" has an answer alone')
    return {"prompt": messages[:-1], "completion": messages[-1:]}
