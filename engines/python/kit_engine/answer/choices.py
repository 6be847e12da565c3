"""Chooses the most likely of some answers."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..process.errors import KitError
from .generation import assert_finite_logits
from .loaded import Loaded
from .logprobs import Logprobs
from .prompt import prompt_ids, too_long

# Limits of a batch: logits (256 MiB in float32), and tokens.
MAX_LOGITS = 2**26
MAX_TOKENS = 4_096


def choose(
    loaded: Loaded, request: dict[str, Any], prompt: list[int], is_cancelled: Callable[[], bool]
) -> dict[str, Any]:
    """Chooses by the probability of an answer's tokens, encoded together with the prompt, and of a
    stop token after them.

    :raises KitError: for an answer that doesn't fit the context
    """
    choices: list[str] = request["choices"]
    texts = [prompt_ids(request, loaded.tokenizer, text) for text in choices]
    for i, ids in enumerate(texts):
        if len(ids) > loaded.context:
            raise KitError(
                "REQUEST_INVALID",
                f"Shorten the prompt or choices[{i}]: together they have {len(ids)} tokens, and "
                f"this model's maximum context length is {loaded.context} tokens.",
                too_long(request),
            )
    # A token may span the prompt's end and an answer's start, so scoring starts before it.
    start = max(1, min(shared_prefix_length(prompt, ids) for ids in texts))
    tails = [ids[start:] for ids in texts]
    sums: list[float] = []
    best = 0
    found: list[dict[str, Any]] | None = None
    for logprobs in tail_logprobs(loaded, texts[0][:start], tails, is_cancelled):
        tail = tails[len(sums)]
        total = float(sum(logprobs[at, token] for at, token in enumerate(tail)))
        if loaded.stop_token_ids:
            total += float(logprobs[len(tail), sorted(loaded.stop_token_ids)].logsumexp(0))
        if not sums or total > sums[best]:
            best = len(sums)
            count = request.get("logprobs")
            found = (
                count
                if count is None
                else [
                    Logprobs(logprobs[at], count, loaded.token_bytes).of(token)
                    for at, token in enumerate(tail)
                ]
            )
        sums.append(total)
    probabilities = torch.tensor(sums, dtype=torch.float64).softmax(0).tolist()
    return {
        "text": choices[best],
        "finishReason": "stop",
        "promptTokens": len(prompt),
        "tokens": len(tails[best]),
        "choices": [
            {"text": text, "probability": probability}
            for text, probability in zip(choices, probabilities, strict=True)
        ],
        **({} if found is None else {"logprobs": found}),
    }


def tail_logprobs(
    loaded: Loaded, head: list[int], tails: list[list[int]], is_cancelled: Callable[[], bool]
) -> Iterator[Any]:
    """For each tail, the log probabilities after the head and after each of its tokens
    [tail + 1, vocabulary]. Reads the head once if the model's cache can be copied."""
    device, vocabulary = loaded.device.name, len(loaded.suppressed)
    with torch.inference_mode():
        first = loaded.model(input_ids=torch.tensor([head], device=device), use_cache=True)
        after_head = log_softmax(first.logits[0, -1:])
        shared = getattr(first, "past_key_values", None)
        can_share = type(shared).__name__ == "DynamicCache" and shared.is_croppable
        before = [] if can_share else head
        at = 0
        while at < len(tails):
            if is_cancelled():
                raise KitError("WORKER_FAILED", "The request was cancelled. Try again.")
            longest, batch = 0, []
            for tail in tails[at:]:
                length = max(longest, len(tail))
                rows = len(batch) + 1
                read = rows * (len(before) + length)
                is_full = read * vocabulary > MAX_LOGITS or rows * (len(head) + length) > MAX_TOKENS
                if batch and is_full:
                    break
                longest = length
                batch.append(tail)
            at += len(batch)
            logits = None
            if longest > 0:
                # Right padding doesn't affect earlier positions.
                rows = [before + tail + [0] * (longest - len(tail)) for tail in batch]
                cache = copy.deepcopy(shared) if can_share else None
                if cache is not None:
                    cache.batch_repeat_interleave(len(batch))
                logits = loaded.model(
                    input_ids=torch.tensor(rows, device=device),
                    past_key_values=cache,
                    use_cache=can_share,
                ).logits
            for row, tail in enumerate(batch):
                if not tail or logits is None:
                    yield after_head
                    continue
                of_tail = logits[row, len(before) : len(before) + len(tail)]
                yield torch.cat([after_head, log_softmax(of_tail)])


def log_softmax(logits: Any) -> Any:
    for row in logits:
        assert_finite_logits(row)
    return torch.log_softmax(logits.float(), dim=-1).cpu()


def shared_prefix_length(one: list[int], other: list[int]) -> int:
    """Length of the common prefix, in tokens."""
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length
