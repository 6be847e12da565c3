"""The tokens at which answers stop, as in engines/tokens/stopTokens.ts."""

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from ..process.limits import TEMPLATES


@dataclass
class StopTokens:
    # Ids: the end of a text first, then the end of a turn.
    all: list[int]
    # The chat template's end of turn.
    turn: int | None


def stop_tokens_of(tokenizer: Any) -> list[int]:
    """Stop token ids; the first also ends a text."""
    return stop_tokens(tokenizer).all


def stop_tokens(tokenizer: Any) -> StopTokens:
    """Includes the config's stop tokens once `read_stop_tokens` has read them."""
    ends: StopTokens | None = getattr(tokenizer, "kit_stop_tokens", None)
    if ends is None:
        ends = tokenizer.kit_stop_tokens = find_stop_tokens(tokenizer, [], None)
    return ends


def read_stop_tokens(tokenizer: Any, folder: str) -> None:
    """Reads the config's stop tokens; the first is the default eos_token."""
    config = read_config(folder, "config.json")
    size = config.get("vocab_size", text_config(config).get("vocab_size"))
    tokenizer.kit_stop_tokens = find_stop_tokens(
        tokenizer, all_named(config, folder, tokenizer), size
    )
    ends = stop_tokens_of(tokenizer)
    if tokenizer.eos_token_id is None and ends:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(ends[0])


def save_stop_tokens(model: Any, tokenizer: Any) -> None:
    """Adds all stop tokens to the model's generation config, for other programs."""
    named = listed(model.generation_config.eos_token_id)
    missing = [one for one in stop_tokens_of(tokenizer) if one not in named]
    if missing:
        ends = named + missing
        model.generation_config.eos_token_id = ends if len(ends) > 1 else ends[0]


def find_stop_tokens(tokenizer: Any, named: list[int], size: Any) -> StopTokens:
    """
    :param size: of the model's vocabulary, if known
    """
    own = tokenizer.eos_token_id
    text = own if own is not None or not named else named[0]
    turn = turn_stop_token(tokenizer, {text, *named})
    # Ids beyond the logits are never generated.
    ends = [
        one
        for one in dict.fromkeys([text, turn, *named])
        if one is not None and (not isinstance(size, int) or one < size)
    ]
    return StopTokens(ends, turn)


def all_named(config: dict[str, Any], folder: str, tokenizer: Any) -> list[int]:
    """As in `transformers`, which falls back to config.json."""
    generation = read_config(folder, "generation_config.json")
    if not os.path.exists(os.path.join(folder, "generation_config.json")):
        return named_stop_tokens(config)
    # A rewritten config.json often has an id that is a different token here.
    added = [one for one in named_stop_tokens(config) if one in tokenizer.added_tokens_decoder]
    return named_stop_tokens(generation) or added


def named_stop_tokens(config: dict[str, Any]) -> list[int]:
    named = config.get("eos_token_id")
    return listed(text_config(config).get("eos_token_id") if named is None else named)


def listed(named: Any) -> list[int]:
    ids = named if isinstance(named, list) else [named]
    return [one for one in ids if isinstance(one, int) and not isinstance(one, bool) and one >= 0]


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    text = config.get("text_config")
    return text if isinstance(text, dict) else {}


def read_config(folder: str, name: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError):
        # Whoever needs the file reports the problem.
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
    added = {one.content: (i, one.special) for i, one in tokenizer.added_tokens_decoder.items()}
    if tokenizer.eos_token is not None:
        added[tokenizer.eos_token] = (tokenizer.eos_token_id, True)
    longest_first = sorted(added, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(one) for one in longest_first if one))

    def written(messages: list[dict[str, str]]) -> list[tuple[str, int, bool]]:
        tail = tail_of(messages, tokenizer) or ""
        return [(one, *added[one]) for one in pattern.findall(tail)] if pattern.pattern else []

    def end_in(tokens: list[tuple[str, int, bool]]) -> int | None:
        return next((i for _, i, special in tokens if special or i in known), None)

    # Some templates require a system message.
    begin = [SYSTEM] if tail_of([QUESTION, ANSWER], tokenizer) is None else []
    last = written([*begin, QUESTION, ANSWER])
    end = end_in(last)
    if end is None:
        end = next((i for content, i, _ in last if content.strip()), None)
    return end_in(written([*begin, QUESTION, ANSWER, QUESTION])) if end is None else end


def tail_of(messages: list[dict[str, str]], tokenizer: Any) -> str | None:
    """What the template writes after the answer's text; None if it refuses the messages."""
    try:
        with TEMPLATES.limit():
            text = str(tokenizer.apply_chat_template(messages, tokenize=False))
    except Exception:  # noqa: BLE001
        # Refused rows are reported on their own.
        return None
    _, found, tail = text.rpartition(ANSWER["content"])
    return tail if found else ""
