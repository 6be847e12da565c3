"""Supervised fine-tuning: the mean negative log likelihood of a learned token."""

from collections.abc import Callable
from typing import Any

from ...data.masks import Tokens, sequences_of
from ...data.rows import Row


class Sft:
    formats = ("messages", "prompt, completion", "text")
    needs_all = False

    def is_penalized(self, is_undesirable: bool, sequence: int) -> bool:
        return False

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        return sequences_of(row, tokenizer)

    def trainer_class(self) -> Callable[..., Any]:
        from ..sft_trainer import SftTrainer

        return SftTrainer
