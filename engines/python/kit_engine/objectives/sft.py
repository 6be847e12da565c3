"""Supervised fine-tuning: the mean negative log likelihood of a learned token."""

from collections.abc import Callable, Iterator
from typing import Any

from ..ignored_keys import IgnoredKeys
from ..masks import Tokens, sequences_of
from ..rows import EXPECTED_ROW, Row, read_rows


class Sft:
    expected = EXPECTED_ROW
    needs_all = False

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Row]:
        return read_rows(files, ignored)

    def is_text(self, row: Row) -> bool:
        return row.conversation is None

    def is_bad(self, row: Row) -> bool:
        return False

    def is_avoided(self, is_bad: bool, sequence: int) -> bool:
        return False

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        return sequences_of(row, tokenizer)

    def trainer(self) -> Callable[..., Any]:
        from ..sft_trainer import SftTrainer

        return SftTrainer
