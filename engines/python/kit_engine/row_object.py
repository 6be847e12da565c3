"""A line of a dataset as an object, before its form is known, as engines/dataset/rowObject.ts."""

import re
from collections.abc import Callable, Iterator, Sequence
from json import JSONDecodeError
from typing import Any, NoReturn, Protocol, TypeVar

from .chat import (
    Message,
    as_message,
    is_learned,
    problem_of_message,
    problem_of_tools,
    read_json,
)
from .constants import CONSTANTS
from .errors import KitError
from .ignored_keys import IgnoredKeys
from .learned_marks import says_learned
from .lines import read_lines
from .question import is_whole, split_at
from .system import problem_of_system, with_system

# Parts between commas, semicolons or tabs without a space after them, which prose would have.
PARTS = re.compile(CONSTANTS["csvLine"])


class Placed(Protocol):
    # File and line.
    where: str


Read = TypeVar("Read", bound=Placed)


class Wrong(Exception):
    """What is wrong with a row, for people."""


def fail(problem: str) -> NoReturn:
    raise Wrong(problem)


# What a row is, and the keys of its form.
Reader = Callable[[dict[str, Any]], tuple[Read, Sequence[str]]]


def read_objects(
    files: list[str], ignored: IgnoredKeys, expected: str, read: Reader[Read]
) -> Iterator[Read]:
    """
    What `read` makes of each line's object, with its place as `where`.

    :param ignored: counts those of rows at URLs; Kit has counted those of the other files
    :raises KitError: for a file that cannot be read, or a row that cannot be learned
    """
    for file in files:
        is_url = "://" in file
        for text, where in read_lines(file):
            row, found, form = parse_object(text, where, expected, read)
            if is_url:
                ignored.add(row, form)
            found.where = where
            yield found


def parse_object(
    text: str, where: str, expected: str, read: Reader[Read]
) -> tuple[dict[str, Any], Read, Sequence[str]]:
    """:raises KitError: with the line, the problem and what to write instead"""
    try:
        row = object_of(read_json(text))
        return row, *read(row)
    except Wrong as error:
        problem = str(error)
        if "://" in where:
            problem = problem.replace(CONSTANTS["otherNames"], CONSTANTS["otherNamesAtUrl"])
    except (ValueError, RecursionError) as error:
        problem = CONSTANTS["csvProblem"]
        if not is_csv(text, where):
            where, problem = not_json(error, where)
    raise KitError("DATASET_INVALID", f"{where}: {problem}. Write {expected}.")


def not_json(error: ValueError | RecursionError, where: str) -> tuple[str, str]:
    """The place of the first wrong character, and what Python says of it."""
    if isinstance(error, JSONDecodeError):
        return f"{where}:{error.colno}", f"not valid JSON ({error.msg})"
    return where, f"not valid JSON ({error})"


def object_of(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        fail("not a JSON object")
    # Libraries write a key that a row lacks as null.
    row = {key: value for key, value in row.items() if value is not None}
    problem = problem_of_tools(row)
    if problem:
        fail(problem)
    if says_learned("weight", row.get("weight")) is False:
        fail(CONSTANTS["weightlessRow"])
    return row


def with_system_of(row: dict[str, Any], messages: list[Message]) -> list[Message]:
    """A conversation with the system's text that the row has beside it."""
    problem = problem_of_system(row, messages)
    if problem:
        fail(problem)
    return [whole(message) for message in with_system(row, messages)]


def is_csv(line: str, where: str) -> bool:
    """As engines/dataset/csv.ts: by the file's name, or as its first line."""
    path, _, number = where.rpartition(":")
    is_named = path.lower().endswith((".csv", ".tsv"))
    return is_named or (number == "1" and PARTS.fullmatch(line) is not None)


def messages_in(name: str, value: Any) -> list[Message]:
    """The messages that a row has under a name."""
    if not isinstance(value, list) or not value:
        fail(f'"{name}" is not a list of messages')
    for i, message in enumerate(value):
        problem = problem_of_message(message)
        if problem:
            fail(f"{name}[{i}] {problem}")
    return [whole(as_message(message)) for message in value]


def question_in(name: str, value: Any) -> list[Message]:
    """A question's words, or its messages, of which no answer is learned."""
    if isinstance(value, str):
        return [{"role": "user", "content": whole(value)}]
    return [
        {**one, "weight": 0} if one["role"] == "assistant" else one
        for one in messages_or_fail(name, value)
    ]


def asked_once(row: dict[str, Any]) -> dict[str, Any]:
    """Takes the question once where a completion is a whole conversation that has it, too."""
    prompt, completion = row.get("prompt"), row.get("completion")
    parts = {key: row[key] for key in ("prompt", "completion") if key in row}
    if prompt is None or not isinstance(completion, list):
        return parts
    messages = answer_messages_in("completion", completion)
    if not is_whole(messages):
        return parts
    found = split_at(question_in("prompt", prompt), messages)
    if found:
        return {"prompt": found.question, "completion": found.answer}
    if isinstance(prompt, str):
        fail('"completion" is a conversation without the "prompt" in it')
    return parts


def answer_in(name: str, value: Any) -> list[Message]:
    """An answer's words, or its messages."""
    messages = answer_messages_in(name, value)
    if messages[-1]["role"] != "assistant":
        fail(f'"{name}" does not end with an "assistant" message')
    if not any(is_learned(one) for one in messages):
        fail(f'"{name}" has the "weight" 0')
    if any(is_blank(one) for one in messages):
        fail(f'"{name}" is empty')
    return messages


def words_of(answer: list[Message]) -> list[str]:
    """The words of an answer, for people."""
    return [one["content"] or "" for one in answer if one["role"] == "assistant"]


def answer_messages_in(name: str, value: Any) -> list[Message]:
    """The words or messages that a row has under a name, before they are known to be an answer."""
    if isinstance(value, str):
        return [{"role": "assistant", "content": whole(value)}]
    return [without_weight_of_1(one) for one in messages_or_fail(name, value)]


def messages_or_fail(name: str, value: Any) -> list[Message]:
    if isinstance(value, list) and value:
        return messages_in(name, value)
    fail(f'"{name}" is neither text nor a list of messages')


def without_weight_of_1(message: Message) -> Message:
    """Drops a weight of 1, the default, so that equal answers compare as equal."""
    if message.get("weight") == 0:
        return message
    return {key: value for key, value in message.items() if key != "weight"}


def is_blank(message: Message) -> bool:
    if message["role"] != "assistant" or message.get("tool_calls"):
        return False
    return not (message["content"] or "").strip()


def whole(value: Any) -> Any:
    """JSON can spell half a character, which UTF-8 cannot: it becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict):
        return {whole(key): whole(one) for key, one in value.items()}
    return value
