"""Preference pairs, as engines/dataset/pair.ts reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, Message, problem_of_tools
from .constants import CONSTANTS
from .ignored_keys import IgnoredKeys
from .row_object import (
    answer_in,
    fail,
    messages_in,
    question_in,
    read_objects,
    whole,
    words_of,
)

EXPECTED_PAIR = CONSTANTS["expectedPair"]
FORMS = (
    ("prompt", "chosen", "rejected"),
    ("chosen", "rejected"),
    ("input", "preferred_output", "non_preferred_output"),
)
SAME = '"chosen" and "rejected" are the same answer'


@dataclass
class Pair:
    """A question and two answers to it."""

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]
    tools: list[dict[str, Any]] | None = None
    # File and line.
    where: str = ""

    @property
    def keys(self) -> str:
        return f"prompt, chosen, rejected{', tools' * (self.tools is not None)}"

    def answers(self) -> list[str]:
        return words_of(self.chosen)

    def conversations(self) -> list[Conversation]:
        return [Conversation(self.prompt + one, self.tools) for one in (self.chosen, self.rejected)]


def read_pairs(files: list[str], ignored: IgnoredKeys) -> Iterator[Pair]:
    """:raises KitError: for a file that cannot be read, or a row that is no pair"""
    return read_objects(files, ignored, EXPECTED_PAIR, pair_of)


def pair_of(row: dict[str, Any]) -> tuple[Pair, tuple[str, ...]]:
    pair = openai_pair(row) if "preferred_output" in row else trl_pair(row)
    if pair.chosen == pair.rejected:
        fail(SAME)
    form = next((form for form in FORMS if all(key in row for key in form)), ())
    return pair, form


def trl_pair(row: dict[str, Any]) -> Pair:
    if "chosen" not in row and "rejected" not in row:
        fail(other_form(row))
    if "chosen" not in row:
        fail('a "rejected" answer without a "chosen" one')
    if "rejected" not in row:
        fail('a "chosen" answer without a "rejected" one')
    parts = row if "prompt" in row else parts_of(row)
    return Pair(
        question_in("prompt", parts["prompt"]),
        answer_in("chosen", parts["chosen"]),
        answer_in("rejected", parts["rejected"]),
        whole(row.get("tools")) or None,
    )


def parts_of(row: dict[str, Any]) -> dict[str, Any]:
    """Of two whole conversations, as some datasets of TRL's are: the question is what both begin
    with."""
    if not isinstance(row["chosen"], list):
        fail('"chosen" and "rejected" without a "prompt"')
    chosen = messages_in("chosen", row["chosen"])
    rejected = messages_in("rejected", row["rejected"])
    same = 0
    while same < min(len(chosen), len(rejected)) and chosen[same] == rejected[same]:
        same += 1
    if same == 0:
        fail('"chosen" and "rejected" begin with different questions')
    if same == len(chosen) == len(rejected):
        fail(SAME)
    if same == len(chosen):
        fail('"rejected" begins with all of "chosen"')
    if same == len(rejected):
        fail('"chosen" begins with all of "rejected"')
    return {"prompt": chosen[:same], "chosen": chosen[same:], "rejected": rejected[same:]}


def openai_pair(row: dict[str, Any]) -> Pair:
    asked = row.get("input")
    if not isinstance(asked, dict):
        fail('"input" is not {"messages":[…]}')
    problem = problem_of_tools(asked)
    if problem:
        fail(f'in "input", {problem}')
    return Pair(
        question_in("input.messages", asked.get("messages")),
        answer_in("preferred_output", row["preferred_output"]),
        answer_in("non_preferred_output", row.get("non_preferred_output")),
        whole(asked.get("tools")) or None,
    )


def other_form(row: dict[str, Any]) -> str:
    if "label" in row:
        return 'a "label" is what the objective "kto" learns from, not "dpo"'
    if any(key in row for key in ("messages", "completion", "text")):
        return 'a single answer, while the objective "dpo" learns from two'
    return f'no "chosen" and "rejected"{CONSTANTS["otherNames"]}'
