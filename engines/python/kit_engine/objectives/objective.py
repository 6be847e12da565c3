"""What every objective has."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..ignored_keys import IgnoredKeys
from ..masks import Tokens


class Objective(Protocol):
    # The forms of a line, for error messages.
    expected: str
    # Whether a row needs each of its sequences, and a difference between them, as a pair does.
    # Others go without those that do not fit.
    needs_all: bool

    def read(self, files: list[str], ignored: IgnoredKeys) -> Iterator[Any]:
        """
        The rows, each with its names in the file as `keys`: `prompt, completion`.

        :raises KitError: `DATASET_INVALID` with file and line
        """
        ...

    def is_text(self, row: Any) -> bool:
        """Whether it is one long text, which is cut into pieces rather than shortened."""
        ...

    def is_bad(self, row: Any) -> bool:
        """Whether its answer was judged to be bad."""
        ...

    def is_avoided(self, is_bad: bool, sequence: int) -> bool:
        """Whether training makes this sequence less likely; only for display."""
        ...

    def sequences_of(self, row: Any, tokenizer: Any) -> list[Tokens]:
        """The sequences that a row becomes; they stay in one batch."""
        ...

    def trainer(self) -> Callable[..., Any]:
        """The class of its `KitTrainer`, which is imported only now."""
        ...
