"""Answers from saved checkpoints, one request at a time."""

from typing import Any

from ..model.models import Source, silence_libraries
from ..process.channel import Channel
from ..process.device import Device, find_device
from ..process.errors import KitError
from ..process.inbox import RequestQueue
from .calls import calls_text, specials_of
from .choices import choose
from .constraint import Constraint, TextTokens, TokenMasks
from .decoding import AnswerText
from .generation import AnswerTracker, Continuation, generate
from .loaded import Loaded, load
from .prompt import prompt_ids, too_long_fault
from .stream import TokenStream

# Minimum time between two messages with an answer's tokens.
FLUSH_SECONDS = 0.02
# Cached grammars per model.
MAX_GRAMMARS = 16


def answer(inbox: RequestQueue, channel: Channel, flush_seconds: float = FLUSH_SECONDS) -> None:
    """Answers until the inbox closes."""
    silence_libraries()
    handler = RequestHandler(inbox, channel, find_device(inbox.job.get("bf16")), flush_seconds)
    for message in inbox:
        request_id = message["id"]
        try:
            result = handler.handle(message)
            channel.send("answer", id=request_id, result=result)
        except Exception as error:  # noqa: BLE001
            channel.send("answer", id=request_id, failure=inbox.failure(error))
        inbox.cancelled_ids.discard(request_id)


class RequestHandler:
    def __init__(
        self, inbox: RequestQueue, channel: Channel, device: Device, flush_seconds: float
    ) -> None:
        self.inbox = inbox
        self.channel = channel
        self.device = device
        self.flush_seconds = flush_seconds
        self.models: dict[int, Loaded] = {}

    def handle(self, message: dict[str, Any]) -> dict[str, Any] | None:
        model_id = message["model"]
        if message["type"] == "load":
            self.models[model_id] = loaded = load(Source(**message["source"]), self.device)
            return {
                "calls": [calls_text(calls, loaded) for calls in message["calls"]],
                "specials": specials_of(loaded),
            }
        elif message["type"] == "unload":
            self.models.pop(model_id, None)
        else:
            return self._infer(message, self.models[model_id])
        return None

    def _infer(self, message: dict[str, Any], loaded: Loaded) -> dict[str, Any]:
        request_id, request = message["id"], message["request"]
        prompt = prompt_ids(request, loaded.tokenizer)
        remaining = loaded.context - len(prompt)
        assert_fits(prompt, loaded.context, request)
        if request.get("maxTokens") == 0:  # Only validate.
            return {"promptTokens": len(prompt), "finishReason": "length"}

        def is_cancelled() -> bool:
            return self.inbox.cancelled.is_set() or request_id in self.inbox.cancelled_ids

        if request.get("choices"):
            return choose(loaded, request, prompt, is_cancelled)

        def send(tokens: list[dict[str, Any]]) -> None:
            self.channel.send("tokens", id=request_id, promptTokens=len(prompt), tokens=tokens)

        # Without streaming or stop sequences, one message is enough.
        seconds = self.flush_seconds if message.get("isStreamed") or request.get("stop") else None
        stream = TokenStream(send, AnswerText(loaded.token_bytes), seconds)
        continuation = Continuation(
            request,
            prompt,
            message.get("generated", []),
            min(request.get("maxTokens") or remaining, remaining),
        )
        constraint = constraint_of(loaded, message)
        markers = [] if constraint else message["markers"]
        tracker = AnswerTracker(loaded, continuation, stream, constraint, is_cancelled)
        reason = generate(loaded, continuation, tracker, markers)
        stream.flush()
        return {"promptTokens": len(prompt), "finishReason": reason}


def assert_fits(prompt: list[int], context: int, request: dict[str, Any]) -> None:
    """:raises KitError: for a prompt that is empty, or leaves no room for an answer"""
    if not prompt:
        raise KitError(
            "REQUEST_INVALID",
            "The prompt is empty, and the model has no token that begins a text. Write a prompt.",
            {"option": "messages" if request.get("messages") else "prompt"},
        )
    if len(prompt) >= context:
        raise KitError(
            "REQUEST_INVALID",
            f"The prompt is too long: its {len(prompt)} tokens leave no room for an answer, and "
            f"this model's maximum context length is {context} tokens. Shorten it.",
            too_long_fault(request),
        )


def constraint_of(loaded: Loaded, message: dict[str, Any]) -> Constraint | None:
    markers = tuple(message["markers"])
    if "constraintSpec" not in message:
        return None
    spec, count = message["constraintSpec"]
    if markers not in loaded.text_tokens:
        loaded.text_tokens[markers] = TextTokens(
            loaded.token_bytes, loaded.without(markers), loaded.stop_token_ids
        )
    key = (spec, markers)
    masks = loaded.grammars.pop(key, None)
    if masks is None or not masks.grammar.has_budget():
        masks = TokenMasks(spec, count, loaded.text_tokens[markers])
    loaded.grammars[key] = masks
    if len(loaded.grammars) > MAX_GRAMMARS:
        del loaded.grammars[next(iter(loaded.grammars))]
    return Constraint(masks)
