"""Chooses the most likely of the given answers."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..process.errors import KitError
from .generation import assert_finite_logits
from .loaded import Loaded
from .logprobs import Logprobs
from .prompt import prompt_ids, too_long_fault

# Limits of a batch: logits (256 MiB in float32), and tokens.
MAX_LOGITS = 2**26
MAX_TOKENS = 4_096


def choose(
    loaded: Loaded, request: dict[str, Any], prompt: list[int], is_cancelled: Callable[[], bool]
) -> dict[str, Any]:
    """Chooses the answer that, with a stop token at its end, is the most probable. Prompt
    and answer are tokenized together.

    :raises KitError: for an answer that doesn't fit the context
    """
    choices: list[str] = request["choices"]
    sequences = [prompt_ids(request, loaded.tokenizer, choice) for choice in choices]
    for i, ids in enumerate(sequences):
        if len(ids) > loaded.context:
            raise KitError(
                "REQUEST_INVALID",
                f"Shorten the prompt or choices[{i}]: together they have {len(ids)} tokens, and "
                f"this model's maximum context length is {loaded.context} tokens.",
                too_long_fault(request),
            )
    # A token may span prompt and answer, so scoring starts where the tokenizations differ.
    start = max(1, min(shared_prefix_length(prompt, ids) for ids in sequences))
    tails = [ids[start:] for ids in sequences]
    scores: list[float] = []
    best = 0
    best_logprobs: list[dict[str, Any]] | None = None
    for logprobs in tail_logprobs(loaded, sequences[0][:start], tails, is_cancelled):
        tail = tails[len(scores)]
        score = float(sum(logprobs[i, token] for i, token in enumerate(tail)))
        if loaded.stop_token_ids:
            score += float(logprobs[len(tail), sorted(loaded.stop_token_ids)].logsumexp(0))
        if not scores or score > scores[best]:
            best = len(scores)
            count = request.get("logprobs")
            best_logprobs = (
                None
                if count is None
                else [
                    Logprobs(logprobs[i], count, loaded.token_bytes).of(token)
                    for i, token in enumerate(tail)
                ]
            )
        scores.append(score)
    probabilities = torch.tensor(scores, dtype=torch.float64).softmax(0).tolist()
    return {
        "text": choices[best],
        "finishReason": "stop",
        "promptTokens": len(prompt),
        "tokens": len(tails[best]),
        "choices": [
            {"text": text, "probability": probability}
            for text, probability in zip(choices, probabilities, strict=True)
        ],
        **({} if best_logprobs is None else {"logprobs": best_logprobs}),
    }


def tail_logprobs(
    loaded: Loaded, head: list[int], tails: list[list[int]], is_cancelled: Callable[[], bool]
) -> Iterator[Any]:
    """Yields for each tail the log probabilities after the head and after each of the tail's tokens
    [tail + 1, vocabulary]. Runs the head only once if its KV cache can be copied."""
    device, vocabulary = loaded.device.name, len(loaded.suppressed)
    with torch.inference_mode():
        head_output = loaded.model(input_ids=torch.tensor([head], device=device), use_cache=True)
        after_head = log_softmax(head_output.logits[0, -1:])
        head_cache = getattr(head_output, "past_key_values", None)
        can_copy = type(head_cache).__name__ == "DynamicCache" and head_cache.is_croppable
        prefix = [] if can_copy else head
        done = 0
        while done < len(tails):
            if is_cancelled():
                raise KitError("WORKER_FAILED", "The request was cancelled. Try again.")
            longest, batch = 0, []
            for tail in tails[done:]:
                length = max(longest, len(tail))
                rows = len(batch) + 1
                entries = rows * (len(prefix) + length) * vocabulary
                is_full = entries > MAX_LOGITS or rows * (len(head) + length) > MAX_TOKENS
                if batch and is_full:
                    break
                longest = length
                batch.append(tail)
            done += len(batch)
            logits = None
            if longest > 0:
                # Right padding doesn't affect earlier positions.
                rows = [prefix + tail + [0] * (longest - len(tail)) for tail in batch]
                cache = copy.deepcopy(head_cache) if can_copy else None
                if cache is not None:
                    cache.batch_repeat_interleave(len(batch))
                logits = loaded.model(
                    input_ids=torch.tensor(rows, device=device),
                    past_key_values=cache,
                    use_cache=can_copy,
                ).logits
            for row, tail in enumerate(batch):
                if not tail or logits is None:
                    yield after_head
                    continue
                tail_logits = logits[row, len(prefix) : len(prefix) + len(tail)]
                yield torch.cat([after_head, log_softmax(tail_logits)])


def log_softmax(logits: Any) -> Any:
    for row in logits:
        assert_finite_logits(row)
    return torch.log_softmax(logits.float(), dim=-1).cpu()


def shared_prefix_length(a: list[int], b: list[int]) -> int:
    """Length of the common prefix, in tokens."""
    length = 0
    while length < min(len(a), len(b)) and a[length] == b[length]:
        length += 1
    return length
