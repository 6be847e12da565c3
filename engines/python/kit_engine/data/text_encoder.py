"""Encodes texts with special tokens around them, as in engines/tokens/textEncoder.ts."""

from typing import Any

from ..process.limits import encode


def encode_text(text: str, tokenizer: Any) -> list[int]:
    """Adds no second copy of special tokens that a rendered text already has."""
    before, after = tokens_around(tokenizer)
    ids = list(encode(text, tokenizer)["input_ids"])
    if before and ids[len(before) : 2 * len(before)] == before:
        ids = ids[len(before) :]
    if after and ids[-2 * len(after) : -len(after)] == after:
        ids = ids[: -len(after)]
    return ids


def tokens_around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer adds before and after a text."""
    around: tuple[list[int], list[int]] | None = getattr(tokenizer, "kit_around", None)
    if around is None:
        whole = list(encode("a", tokenizer)["input_ids"])
        bare = list(encode("a", tokenizer, add_special_tokens=False)["input_ids"])
        starts = (i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
        start = next(starts, None)
        around = ([], []) if start is None else (whole[:start], whole[start + len(bare) :])
        tokenizer.kit_around = around
    return around
