"""The better of two answers."""

from collections.abc import Callable, Iterator
from typing import Any

from ..ignored_keys import IgnoredKeys
from ..masks import Tokens
from ..pairs import EXPECTED_PAIR, Pair, read_pairs
from .answer_sequence import answer_sequence


class Dpo:
    expected = EXPECTED_PAIR
    needs_all = True

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Pair]:
        return read_pairs(files, ignored)

    def is_text(self, row: Pair) -> bool:
        return False

    def is_bad(self, row: Pair) -> bool:
        return False

    def is_avoided(self, is_bad: bool, sequence: int) -> bool:
        return sequence == 1

    def sequences_of(self, row: Pair, tokenizer: Any) -> list[Tokens]:
        return [answer_sequence(one, tokenizer) for one in row.conversations()]

    def trainer(self) -> Callable[..., Any]:
        from ..dpo_trainer import PairTrainer

        return PairTrainer
