"""The interface of objectives."""

from collections.abc import Callable
from typing import Any, Protocol

from .masks import Tokens
from .rows import Row


class Objective(Protocol):
    # Formats of rows at a URL: `prompt, completion`.
    formats: tuple[str, ...]
    # Whether a row needs all its sequences, and a difference between them, as a pair does.
    # Others drop sequences that don't fit.
    needs_all: bool

    def is_penalized(self, is_undesirable: bool, sequence: int) -> bool:
        """Whether training makes this sequence less likely; only for display."""
        ...

    def sequences_of(self, row: Row, tokenizer: Any) -> list[Tokens]:
        """The sequences that a row becomes; they stay in one batch."""
        ...

    def trainer(self) -> Callable[..., Any]:
        """The class of its `KitTrainer`, which is imported only now."""
        ...
