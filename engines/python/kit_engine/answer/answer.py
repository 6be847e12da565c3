"""Answers from saved checkpoints, one question after another."""

from typing import Any

from ..model.models import Source, quiet
from ..process.channel import Channel
from ..process.device import Device, find_device
from ..process.errors import KitError
from ..process.inbox import Questions
from .calls import calls_text, specials_of
from .choices import choose
from .constraint import Constraint, Followers, SpokenTokens
from .decoding import AnswerText
from .generation import Answering, Opening, generate
from .loaded import Loaded, load
from .pieces import Pieces
from .prompt import prompt_ids, too_long

# Between two messages with an answer's tokens.
PIECE_SECONDS = 0.02
# Grammars of a model that are kept.
MOST_GRAMMARS = 16


def answer(inbox: Questions, channel: Channel, piece_seconds: float = PIECE_SECONDS) -> None:
    """Until there are no more, as when Kit is gone."""
    quiet()
    answers = Answers(inbox, channel, find_device(inbox.job.get("bf16")), piece_seconds)
    for question in inbox:
        number = question["id"]
        try:
            result = answers.work(question)
            channel.send("answer", id=number, result=result)
        except Exception as error:  # noqa: BLE001
            channel.send("answer", id=number, failure=inbox.failure(error))
        inbox.given_up.discard(number)


class Answers:
    def __init__(
        self, inbox: Questions, channel: Channel, device: Device, piece_seconds: float
    ) -> None:
        self.inbox = inbox
        self.channel = channel
        self.device = device
        self.piece_seconds = piece_seconds
        self.models: dict[int, Loaded] = {}

    def work(self, question: dict[str, Any]) -> dict[str, Any] | None:
        name = question["model"]
        if question["type"] == "load":
            self.models[name] = loaded = load(Source(**question["source"]), self.device)
            return {
                "calls": [calls_text(calls, loaded) for calls in question["calls"]],
                "specials": specials_of(loaded),
            }
        elif question["type"] == "unload":
            self.models.pop(name, None)
        else:
            return self._infer(question, self.models[name])
        return None

    def _infer(self, question: dict[str, Any], loaded: Loaded) -> dict[str, Any]:
        number, request = question["id"], question["request"]
        prompt = prompt_ids(request, loaded.tokenizer)
        room = loaded.context - len(prompt)
        assert_fits(prompt, loaded.context, request)
        if request.get("maxTokens") == 0:  # It is only checked.
            return {"promptTokens": len(prompt), "finishReason": "length"}

        def is_over() -> bool:
            return self.inbox.cancelled.is_set() or number in self.inbox.given_up

        if request.get("choices"):
            return choose(loaded, request, prompt, is_over)

        def send(tokens: list[dict[str, Any]]) -> None:
            self.channel.send("tokens", id=number, promptTokens=len(prompt), tokens=tokens)

        # Nobody waits for a part of another answer.
        seconds = self.piece_seconds if question.get("isStreamed") or request.get("stop") else None
        pieces = Pieces(send, AnswerText(loaded.token_bytes), seconds)
        opening = Opening(
            request, prompt, question.get("told", []), min(request.get("maxTokens") or room, room)
        )
        constraint = constraint_of(loaded, question)
        markers = [] if constraint else question["markers"]
        answering = Answering(loaded, opening, pieces, constraint, is_over)
        reason = generate(loaded, opening, answering, markers)
        pieces.flush()
        return {"promptTokens": len(prompt), "finishReason": reason}


def assert_fits(prompt: list[int], context: int, request: dict[str, Any]) -> None:
    """
    :raises KitError: for a prompt that is empty, or leaves no room
    """
    if not prompt:
        raise KitError(
            "REQUEST_INVALID",
            "Write a prompt: this one has no tokens, and the model has none that begins a text.",
            {"option": "messages" if request.get("messages") else "prompt"},
        )
    if len(prompt) >= context:
        raise KitError(
            "REQUEST_INVALID",
            f"The prompt is too long: its {len(prompt)} tokens leave no room for an answer, and "
            f"this model's maximum context length is {context} tokens. Shorten it.",
            too_long(request),
        )


def constraint_of(loaded: Loaded, question: dict[str, Any]) -> Constraint | None:
    markers = tuple(question["markers"])
    if "form" not in question:
        return None
    form, count = question["form"]
    if markers not in loaded.spoken:
        loaded.spoken[markers] = SpokenTokens(
            loaded.token_bytes, loaded.without(markers), loaded.ends
        )
    key = (form, markers)
    followers = loaded.grammars.pop(key, None)
    if followers is None or not followers.grammar.is_fresh():
        followers = Followers(form, count, loaded.spoken[markers])
    loaded.grammars[key] = followers
    if len(loaded.grammars) > MOST_GRAMMARS:
        del loaded.grammars[next(iter(loaded.grammars))]
    return Constraint(followers)
