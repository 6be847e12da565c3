"""KTO: single answers labelled desirable or undesirable."""

from collections.abc import Callable
from typing import Any

from ...data.masks import Tokens
from ...data.rows import Row
from .answer_sequence import answer_sequence


class Kto:
    formats = ("prompt, completion, label",)
    needs_all = False

    def is_penalized(self, is_undesirable: bool, sequence: int) -> bool:
        return is_undesirable

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        return [answer_sequence(row.conversations[0], tokenizer)]

    def trainer_class(self) -> Callable[..., Any]:
        from ..kto_trainer import LabelledTrainer

        return LabelledTrainer
