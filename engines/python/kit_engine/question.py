"""Takes a question once that answers repeat, as engines/dataset/question.ts does here."""

from typing import NamedTuple

from .chat import Message


class Split(NamedTuple):
    """A conversation up to the end of a question, and what follows."""

    question: list[Message]
    answer: list[Message]


def is_whole(answer: list[Message]) -> bool:
    """Whether it is a conversation with its question: no answer begins with a question."""
    begins = answer[0]["role"] in ("user", "system", "developer")
    return begins and answer[-1]["role"] == "assistant"


def shared_length(one: list[Message], other: list[Message]) -> int:
    """A count of messages that both begin with."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return same


def split_at(question: list[Message], conversation: list[Message]) -> Split | None:
    """None if the conversation has another question."""
    count = len(question)
    for end in range(count, len(conversation)):
        if all(map(is_same, question, conversation[end - count : end])):
            return Split(conversation[:end], conversation[end:])
    first, rest = question[0], question[1:]
    if first["role"] != "system" or not rest or conversation[0]["role"] == "system":
        return None
    found = split_at(rest, conversation)
    return found and Split([first, *found.question], found.answer)


def is_same(one: Message, other: Message) -> bool:
    """A question is never learned, whatever its weight."""
    return plain(one) == plain(other)


def plain(message: Message) -> Message:
    rest = {key: value for key, value in message.items() if key != "weight"}
    return rest | {"content": (message["content"] or "").strip()}
