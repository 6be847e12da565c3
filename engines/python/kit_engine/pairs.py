"""Preference pairs, as engines/dataset/pair.ts reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .chat import Conversation, Message, problem_of_tools
from .constants import CONSTANTS
from .ignored_keys import IgnoredKeys
from .question import is_whole, shared_length, split_at
from .row_object import (
    answer_in,
    answer_messages_in,
    fail,
    messages_in,
    question_in,
    read_objects,
    whole,
    with_system_of,
    words_of,
)
from .system import SYSTEM_KEYS

EXPECTED_PAIR = CONSTANTS["expectedPair"]
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
    pair, keys = openai_pair(row) if "preferred_output" in row else trl_pair(row)
    if pair.chosen == pair.rejected:
        fail(SAME)
    return pair, keys


def trl_pair(row: dict[str, Any]) -> tuple[Pair, tuple[str, ...]]:
    if "chosen" not in row and "rejected" not in row:
        fail(other_form(row))
    if "chosen" not in row:
        fail('a "rejected" answer without a "chosen" one')
    if "rejected" not in row:
        fail('a "chosen" answer without a "rejected" one')
    parts, is_prompt_unread = parts_of(row)
    pair = Pair(
        with_system_of(row, question_in("prompt", parts["prompt"])),
        answer_in("chosen", parts["chosen"]),
        answer_in("rejected", parts["rejected"]),
        whole(row.get("tools")) or None,
    )
    return pair, ("chosen", "rejected", *SYSTEM_KEYS, *(() if is_prompt_unread else ("prompt",)))


def parts_of(row: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Takes the question once where the answers are whole conversations that have it, too.

    :return: also whether the row's prompt is no part of its conversations
    """
    if "prompt" not in row:
        return conversations(row), False
    prompt = row["prompt"]
    question = question_in("prompt", prompt)
    answers = {name: answer_messages_in(name, row[name]) for name in ("chosen", "rejected")}
    found = {name: split_at(question, one) for name, one in answers.items() if is_whole(one)}
    first = next(iter(found.values()), None)
    if len(found) == len(answers):
        # As TRL's `maybe_extract_prompt`, which does not read a text then.
        if isinstance(prompt, str):
            return conversations(row), first is None
        other = found["rejected"]
        if first is None or other is None or first.question != other.question:
            return row, False
        parts = conversations(row)
        system = [message for message in question if message is first.question[0]]
        return parts | {"prompt": system + parts["prompt"]}, False
    if first is not None and len(first.question) == len(question):
        return row | {next(iter(found)): first.answer}, False
    if found and isinstance(prompt, str):
        fail('of "chosen" and "rejected" one is a conversation, and one an answer alone')
    return row, False


def conversations(row: dict[str, Any]) -> dict[str, Any]:
    """Of two whole conversations, as some datasets of TRL's are: the question is what both begin
    with."""
    if not isinstance(row["chosen"], list):
        fail('"chosen" and "rejected" without a "prompt"')
    chosen = messages_in("chosen", row["chosen"])
    rejected = messages_in("rejected", row["rejected"])
    same = shared_length(chosen, rejected)
    if same == 0:
        fail('"chosen" and "rejected" begin with different questions')
    if same == len(chosen) == len(rejected):
        fail(SAME)
    if same == len(chosen):
        fail('"rejected" begins with all of "chosen"')
    if same == len(rejected):
        fail('"chosen" begins with all of "rejected"')
    return {"prompt": chosen[:same], "chosen": chosen[same:], "rejected": rejected[same:]}


def openai_pair(row: dict[str, Any]) -> tuple[Pair, tuple[str, ...]]:
    asked = row.get("input")
    if not isinstance(asked, dict):
        fail('"input" is not {"messages":[…]}')
    problem = problem_of_tools(asked)
    if problem:
        fail(f'in "input", {problem}')
    pair = Pair(
        question_in("input.messages", asked.get("messages")),
        answer_in("preferred_output", row["preferred_output"]),
        answer_in("non_preferred_output", row.get("non_preferred_output")),
        whole(asked.get("tools")) or None,
    )
    return pair, ("input", "preferred_output", "non_preferred_output")


def other_form(row: dict[str, Any]) -> str:
    if "label" in row:
        return 'a "label" is what the objective "kto" learns from, not "dpo"'
    if any(key in row for key in ("messages", "completion", "text")):
        return 'a single answer, while the objective "dpo" learns from two'
    return f'no "chosen" and "rejected"{CONSTANTS["otherNames"]}'
