"""Single answers that were judged good or bad."""

from collections.abc import Callable, Iterator
from typing import Any

from ..ignored_keys import IgnoredKeys
from ..judged import EXPECTED_JUDGED, Judged, read_judged
from ..masks import Tokens
from .answer_sequence import answer_sequence


class Kto:
    expected = EXPECTED_JUDGED
    needs_all = False

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Judged]:
        return read_judged(files, ignored)

    def is_text(self, row: Judged) -> bool:
        return False

    def is_bad(self, row: Judged) -> bool:
        return not row.label

    def is_avoided(self, is_bad: bool, sequence: int) -> bool:
        return is_bad

    def sequences_of(self, row: Judged, tokenizer: Any) -> list[Tokens]:
        return [answer_sequence(row.conversation(), tokenizer)]

    def trainer(self) -> Callable[..., Any]:
        from ..kto_trainer import JudgedTrainer

        return JudgedTrainer
