"""DPO: preference pairs."""

from collections.abc import Callable
from typing import Any

from ...data.masks import Tokens
from ...data.rows import Row
from .answer_sequence import answer_sequence


class Dpo:
    formats = ("prompt, chosen, rejected",)
    needs_all = True

    def is_penalized(self, is_undesirable: bool, sequence: int) -> bool:
        return sequence == 1

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        return [answer_sequence(answer, tokenizer) for answer in row.conversations]

    def trainer_class(self) -> Callable[..., Any]:
        from ..dpo_trainer import PairTrainer

        return PairTrainer
