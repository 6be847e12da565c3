"""The interface of objectives."""

from collections.abc import Callable
from typing import Any, Protocol

from .masks import Tokens
from .rows import Row


class Objective(Protocol):
    # Formats of rows at a URL: `prompt, completion`.
    formats: tuple[str, ...]
    # Whether to skip a row unless all its sequences fit and differ, as for preference pairs.
    # Otherwise only the sequences that don't fit are dropped.
    needs_all: bool

    def is_penalized(self, is_undesirable: bool, sequence: int) -> bool:
        """Whether training makes this sequence less likely; only for display."""
        ...

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        """A row's sequences, which stay in one batch."""
        ...

    def trainer_class(self) -> Callable[..., Any]:
        """Its subclass of `KitTrainer`, imported only now since that takes seconds."""
        ...
