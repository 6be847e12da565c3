"""The tokens at which answers stop, as in engines/tokens/stopTokens.ts."""

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from ..process.limits import TEMPLATES


@dataclass
class StopTokens:
    # Ids: the end-of-text token first, then the end-of-turn token.
    all: list[int]
    # The chat template's end-of-turn token.
    turn: int | None


def stop_tokens_of(tokenizer: Any) -> list[int]:
    """Stop token ids; the first also ends plain-text (`text`) rows."""
    return stop_tokens(tokenizer).all


def stop_tokens(tokenizer: Any) -> StopTokens:
    """Includes the config's stop tokens once `read_stop_tokens` has read them."""
    found: StopTokens | None = getattr(tokenizer, "kit_stop_tokens", None)
    if found is None:
        found = tokenizer.kit_stop_tokens = find_stop_tokens(tokenizer, [], None)
    return found


def read_stop_tokens(tokenizer: Any, folder: str) -> None:
    """Reads the config's stop tokens; the first is the default eos_token."""
    config = read_config(folder, "config.json")
    size = config.get("vocab_size", text_config(config).get("vocab_size"))
    configured = configured_ids(config, folder, tokenizer)
    tokenizer.kit_stop_tokens = find_stop_tokens(tokenizer, configured, size)
    stop_ids = stop_tokens_of(tokenizer)
    if tokenizer.eos_token_id is None and stop_ids:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(stop_ids[0])


def save_stop_tokens(model: Any, tokenizer: Any) -> None:
    """Adds all stop tokens to the model's generation config, for other programs."""
    known = valid_ids(model.generation_config.eos_token_id)
    missing = [token for token in stop_tokens_of(tokenizer) if token not in known]
    if missing:
        ids = known + missing
        model.generation_config.eos_token_id = ids if len(ids) > 1 else ids[0]


def find_stop_tokens(tokenizer: Any, configured: list[int], size: Any) -> StopTokens:
    """:param size: of the model's vocabulary, if known"""
    eos = tokenizer.eos_token_id
    text = eos if eos is not None or not configured else configured[0]
    turn = turn_stop_token(tokenizer, {text, *configured})
    # Ids beyond the logits are never generated.
    ids = [
        token
        for token in dict.fromkeys([text, turn, *configured])
        if token is not None and (not isinstance(size, int) or token < size)
    ]
    return StopTokens(ids, turn)


def configured_ids(config: dict[str, Any], folder: str, tokenizer: Any) -> list[int]:
    """As in `transformers`, which falls back to config.json."""
    generation = read_config(folder, "generation_config.json")
    if not os.path.exists(os.path.join(folder, "generation_config.json")):
        return eos_ids(config)
    # Some tools rewrite config.json with an id that is another token in this vocabulary.
    added = [token for token in eos_ids(config) if token in tokenizer.added_tokens_decoder]
    return eos_ids(generation) or added


def eos_ids(config: dict[str, Any]) -> list[int]:
    value = config.get("eos_token_id")
    return valid_ids(text_config(config).get("eos_token_id") if value is None else value)


def valid_ids(value: Any) -> list[int]:
    ids = value if isinstance(value, list) else [value]
    return [i for i in ids if isinstance(i, int) and not isinstance(i, bool) and i >= 0]


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    text = config.get("text_config")
    return text if isinstance(text, dict) else {}


def read_config(folder: str, name: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError):
        # The code that needs the file reports the problem.
        return {}
    return config if isinstance(config, dict) else {}


QUESTION = {"role": "user", "content": "a question"}
ANSWER = {"role": "assistant", "content": "an answer"}
SYSTEM = {"role": "system", "content": "a system message"}


def turn_stop_token(tokenizer: Any, known: set[int | None]) -> int | None:
    """
    The first special token that the template writes after an answer; without one, the first between
    an answer and the next question, since some templates only mark where turns begin.
    """
    if tokenizer.chat_template is None:
        return None
    decoder = tokenizer.added_tokens_decoder
    added = {token.content: (i, token.special) for i, token in decoder.items()}
    if tokenizer.eos_token is not None:
        added[tokenizer.eos_token] = (tokenizer.eos_token_id, True)
    longest_first = sorted(added, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(text) for text in longest_first if text))

    def added_tokens_in_tail(messages: list[dict[str, str]]) -> list[tuple[str, int, bool]]:
        tail = tail_of(messages, tokenizer) or ""
        return [(text, *added[text]) for text in pattern.findall(tail)] if pattern.pattern else []

    def first_stop_token(tokens: list[tuple[str, int, bool]]) -> int | None:
        return next((i for _, i, special in tokens if special or i in known), None)

    # Some templates require a system message.
    begin = [SYSTEM] if tail_of([QUESTION, ANSWER], tokenizer) is None else []
    tokens = added_tokens_in_tail([*begin, QUESTION, ANSWER])
    stop_token = first_stop_token(tokens)
    if stop_token is None:
        stop_token = next((i for text, i, _ in tokens if text.strip()), None)
    if stop_token is None:
        stop_token = first_stop_token(added_tokens_in_tail([*begin, QUESTION, ANSWER, QUESTION]))
    return stop_token


def tail_of(messages: list[dict[str, str]], tokenizer: Any) -> str | None:
    """What the template writes after the answer's text; None if it refuses the messages."""
    try:
        with TEMPLATES.limit():
            text = str(tokenizer.apply_chat_template(messages, tokenize=False))
    except Exception:  # noqa: BLE001
        # A row that the template refuses has its own error.
        return None
    _, found, tail = text.rpartition(ANSWER["content"])
    return tail if found else ""
