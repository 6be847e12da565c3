"""Generates an answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from ..process.errors import KitError
from .constraint import Constraint
from .loaded import Loaded
from .logprobs import Logprobs
from .stream import TokenStream


@dataclass
class Continuation:
    """The state that an answer continues from."""

    request: dict[str, Any]
    prompt: list[int]
    # Tokens of the answer generated so far.
    generated: list[int]
    # Maximum length of the answer in tokens, including those generated.
    limit: int


class AnswerTracker(StoppingCriteria):
    """Receives each generated token, and stops generation after the last."""

    def __init__(
        self,
        loaded: Loaded,
        continuation: Continuation,
        stream: TokenStream,
        constraint: Constraint | None,
        is_cancelled: Callable[[], bool],
    ) -> None:
        self.stop_token_ids = loaded.stop_token_ids
        self.stream = stream
        self.constraint = constraint
        self.is_cancelled = is_cancelled
        self.remaining = continuation.limit - len(continuation.generated)
        self.top_count = continuation.request.get("logprobs")
        self.token_bytes = loaded.token_bytes
        self.logprobs: Logprobs | None = None
        self.has_stopped = False
        for token in continuation.generated:
            stream.text.push(token)
            if constraint:
                constraint.accept(token)

    def keep_logprobs(self, scores: Any) -> None:
        if self.top_count is not None:
            logprobs = torch.log_softmax(scores.float(), dim=-1).cpu()
            self.logprobs = Logprobs(logprobs, self.top_count, self.token_bytes)

    # On MPS, generate() may call this once more after it is told to stop.
    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        if not self._is_done():
            self._take(int(input_ids[0, -1]))
        done = self._is_done() or self.is_cancelled()
        return torch.full((input_ids.shape[0],), done, device=input_ids.device)

    def _take(self, token: int) -> None:
        if token in self.stop_token_ids:
            self.has_stopped = True
            return
        self.remaining -= 1
        if self.constraint:
            self.constraint.accept(token)
            self.has_stopped = self.constraint.is_complete(self.stop_token_ids)
        self.stream.add(token, self.logprobs and self.logprobs.of(token))

    def _is_done(self) -> bool:
        return self.has_stopped or self.remaining <= 0


class AllowedTokens(LogitsProcessor):
    """Masks out tokens that aren't allowed."""

    def __init__(self, tracker: AnswerTracker, suppressed: Any) -> None:
        self.tracker = tracker
        self.suppressed = suppressed

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        assert_finite_logits(scores)
        self.tracker.keep_logprobs(scores[0])
        constraint = self.tracker.constraint
        suppressed = ~constraint.allowed(scores.device) if constraint else self.suppressed
        return scores.masked_fill(suppressed, -torch.inf)


def assert_finite_logits(scores: Any) -> None:
    """
    :raises KitError: for logits that aren't finite, or all equal
    """
    lowest, highest = scores.aminmax()
    # NaN if any logit is NaN. Overflow can also leave all logits equal.
    if not (highest.isfinite() and (lowest < highest or scores.numel() == 1)):
        raise KitError(
            "CHECKPOINT_INVALID",
            "The model's logits are not finite: its weights are too large. Use an earlier "
            "checkpoint, or train again with a lower learningRate.",
        )


def generate(
    loaded: Loaded,
    continuation: Continuation,
    tracker: AnswerTracker,
    allowed_special: Iterable[int],
) -> str:
    """Generates the answer and returns its finish reason: "stop" or "length".

    :param allowed_special: special tokens that the answer may contain; ignored with a constraint
    """
    model, tokenizer, request = loaded.model, loaded.tokenizer, continuation.request
    ids = torch.tensor([continuation.prompt + continuation.generated], device=loaded.device.name)
    temperature = request.get("temperature", 0)
    sampling = {"temperature": float(temperature), "top_p": float(request.get("topP", 1))}
    torch.manual_seed(int(request.get("seed", 0)))
    if tracker.remaining > 0:
        with torch.inference_mode():
            model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tracker.remaining,
                do_sample=temperature > 0,
                **(sampling | {"top_k": 0} if temperature > 0 else {}),
                eos_token_id=sorted(loaded.stop_token_ids),
                pad_token_id=tokenizer.pad_token_id,
                stopping_criteria=StoppingCriteriaList([tracker]),
                logits_processor=LogitsProcessorList(
                    [AllowedTokens(tracker, loaded.without(allowed_special))]
                ),
            )
    return "stop" if tracker.has_stopped else "length"
