"""Parts of messages that a chat template drops, as in engines/tokens/droppedParts.ts."""

import re
from collections.abc import Iterable
from typing import Any

from ..process.errors import KitError
from .chat import Conversation, Message
from .masks import render

REASONING = ("reasoning_content", "reasoning", "thinking")
NAMES = {
    "system": "the system message",
    "later system": "the system message after the first message",
    "tool": "the tool results",
}
ADVICE = {
    "system": "write it in the first user message",
    "later system": "write all of it in the first message",
    "tool": "use a model whose template supports tools, or put the result in a user message",
}

PROBE = "what is looked for"
QUESTION = {"role": "user", "content": "a question"}
ANSWER = {"role": "assistant", "content": "an answer"}
FUNCTION = {"name": "look", "arguments": "{}"}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "call00001", "type": "function", "function": FUNCTION}],
}
PARAMETERS = {"type": "object", "properties": {}}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "look", "description": "look", "parameters": PARAMETERS},
    }
]
SYSTEM = {"role": "system", "content": PROBE}
RESULT = {"role": "tool", "content": PROBE, "name": "look", "tool_call_id": "call00001"}


def parts_of(messages: list[Message]) -> Iterable[str]:
    """The parts of messages that a template may drop."""
    for i, message in enumerate(messages):
        yield from parts_at(i, message)


def parts_at(index: int, message: Message) -> Iterable[str]:
    role = message["role"]
    if role == "assistant":
        yield from (key for key in REASONING if is_text(message.get(key)))
    elif role != "user" and is_text(message["content"]):
        yield "tool" if role == "tool" else "system" if index == 0 else "later system"


def refuse_dropped_parts(messages: list[Message], kwargs: dict[str, Any], tokenizer: Any) -> None:
    """:raises KitError: for a part of a message or a variable that the template would drop"""
    words = re.findall(r"\w+", str(tokenizer.chat_template or ""))
    for name, value in kwargs.items():
        if value and value != "none" and name not in words:
            raise KitError(
                "REQUEST_INVALID",
                f'The model\'s chat template does not read "{name}". Leave it out, or use a model '
                "whose template does.",
                {"option": f"chatTemplateKwargs.{name}"},
            )
    is_dropped: DroppedParts | None = getattr(tokenizer, "kit_dropped_parts", None)
    if is_dropped is None:
        is_dropped = tokenizer.kit_dropped_parts = DroppedParts(tokenizer)
    for i, message in enumerate(messages):
        for part in filter(is_dropped, parts_at(i, message)):
            raise KitError(
                "REQUEST_INVALID",
                f"The model's chat template leaves out {name_of(part)} in messages[{i}]: "
                f"{is_dropped.advice(part)}.",
                {"option": f"messages[{i}]"},
            )


def name_of(part: str) -> str:
    return NAMES.get(part, f'"{part}"')


class DroppedParts:
    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.known: dict[str, bool] = {}

    def __call__(self, part: str) -> bool:
        """Whether the template drops a part wherever it occurs."""
        if part not in self.known:
            has_template = self.tokenizer.chat_template is not None
            self.known[part] = self._leaves_out(part) if has_template else part in REASONING
        return self.known[part]

    def advice(self, part: str) -> str:
        if part in ADVICE:
            return ADVICE[part]
        supported = next((key for key in REASONING if not self(key)), None)
        if supported:
            return f'name it "{supported}", which the template writes'
        return 'write it in "content", or leave it out'

    def _leaves_out(self, part: str) -> bool:
        """False for a template that refuses a part, since it doesn't drop it silently."""
        texts = [self._try_render(conversation) for conversation in conversations_with(part)]
        is_refused = all(text is None for text in texts)
        return not is_refused and not any(PROBE in (text or "") for text in texts)

    def _try_render(self, conversation: Conversation) -> str | None:
        try:
            return render(conversation, self.tokenizer)
        except KitError:
            return None


def conversations_with(part: str) -> list[Conversation]:
    if part == "system":
        return [Conversation([SYSTEM, QUESTION, ANSWER])]
    if part == "later system":
        return [Conversation([QUESTION, ANSWER, SYSTEM, QUESTION, ANSWER])]
    if part == "tool":
        with_call = Conversation([QUESTION, CALL, RESULT, ANSWER], TOOLS)
        return [Conversation([QUESTION, RESULT, ANSWER]), with_call]
    reasoning = {part: PROBE}
    with_call = Conversation([QUESTION, CALL | reasoning], TOOLS)
    return [Conversation([QUESTION, ANSWER | reasoning]), with_call]


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""
