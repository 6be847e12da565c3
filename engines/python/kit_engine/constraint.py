"""Which tokens an answer may have next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from .decoding import TokenBytes
from .errors import KitError
from .grammar import LONGEST, MOST_IN_ALL, Expression, Grammar, too_much

# Places in a grammar whose tokens are kept, and those whose bytes are, at most.
MOST_MASKS = 256
MOST_ROWS = 20_000
BYTES = 256


class SpokenTokens:
    """The tokens that answers are made of, by their bytes.

    :param unspoken: whether an answer is not made of a token [vocabulary]
    """

    def __init__(self, token_bytes: TokenBytes, unspoken: Any, ends: set[int]) -> None:
        spoken = [int(one) for one in (~unspoken).nonzero()[:, 0] if int(one) not in ends]
        found = [(one, token_bytes.of(one)) for one in spoken]
        kept = [(one, text) for one, text in found if 0 < len(text) <= LONGEST]
        self.vocabulary = len(unspoken)
        self.ends = sorted(one for one in ends if one < self.vocabulary)
        self.ids = np.array([one for one, _ in kept], dtype=np.int64)
        self.lengths = np.array([len(text) for _, text in kept], dtype=np.int64)
        padded = b"".join(text.ljust(LONGEST, b"\0") for _, text in kept)
        # [tokens, bytes]
        self.bytes = np.frombuffer(padded, dtype=np.uint8).reshape(-1, LONGEST)
        self.token_bytes = token_bytes


class Followers:
    """What may follow at each place of a grammar."""

    def __init__(self, written: dict[str, Any], tokens: SpokenTokens) -> None:
        self.tokens = tokens
        self.grammar = grammar = Grammar(written)
        space = grammar.repeat(grammar.text(b" "), 0, 1, grammar.none)
        drops = tokens.token_bytes.drops_space
        self.root = grammar.pair(space, grammar.root) if drops else grammar.root
        self.masks: dict[int, Any] = {}
        self._clear()

    def mask(self, place: Expression, device: Any) -> Any:
        """Whether a token may follow [vocabulary]."""
        place = self.grammar.clamp(place)
        found = self.masks.get(place.id)
        if found is None:
            if len(self.masks) == MOST_MASKS:
                self.masks.clear()
            found = self.masks[place.id] = self._mask(place).to(device)
        return found

    def _mask(self, place: Expression) -> Any:
        tokens = self.tokens
        mask = torch.zeros(tokens.vocabulary, dtype=torch.bool)
        if place.nullable:
            mask[tokens.ends] = True
        # Of all tokens at once, the place after each byte.
        left = np.arange(len(tokens.ids))
        rows = np.full(len(left), self._row(place))
        for depth in range(LONGEST):
            rows = self._next(rows, tokens.bytes[left, depth])
            left, rows = left[rows >= 0], rows[rows >= 0]
            is_whole = tokens.lengths[left] == depth + 1
            mask[tokens.ids[left[is_whole]]] = True
            left, rows = left[~is_whole], rows[~is_whole]
            if len(left) == 0:
                break
        if not mask.any():
            raise KitError(
                "REQUEST_INVALID",
                "The model's tokenizer has no token for what the schema wants next. Use another "
                "model, or a schema with plainer texts.",
            )
        return mask

    def _next(self, rows: Any, after: Any) -> Any:
        """The rows after a byte each; -1 for none."""
        for row in np.flatnonzero(np.bincount(rows, minlength=1)):
            self._fill(int(row), after[rows == row])
        return self.table[rows, after]

    def _fill(self, row: int, wanted: Any) -> None:
        table, place = self.table, self.places[row]
        starts = self.grammar.starts(place)
        for byte in np.flatnonzero(np.bincount(wanted, minlength=BYTES)):
            if table[row, byte] != UNKNOWN:
                continue
            is_start = starts >> int(byte) & 1
            after = self._row(self.grammar.next(place, int(byte))) if is_start else NONE
            # A new row may have made the table larger.
            table = self.table
            table[row, byte] = after

    def _row(self, place: Expression) -> int:
        if place is self.grammar.none:
            return NONE
        found = self.row_of.get(place.id)
        if found is None:
            found = self.row_of[place.id] = len(self.places)
            self.places.append(place)
            if found == len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, UNKNOWN)])
        return found

    def is_fresh(self) -> bool:
        """Whether there is work left for another answer."""
        return self.grammar.work_in_all < MOST_IN_ALL / 2

    @contextmanager
    def bounded(self) -> Iterator[None]:
        self.grammar.begin()
        if len(self.places) > MOST_ROWS:
            self._clear()
        try:
            yield
        except RecursionError as error:
            raise too_much() from error

    def _clear(self) -> None:
        self.places: list[Expression] = []
        self.row_of: dict[int, int] = {}
        # By a place and a byte, the next place.
        self.table = np.full((64, BYTES), UNKNOWN, dtype=np.int32)


NONE, UNKNOWN = -1, -2


class Constraint:
    """Where an answer is in a grammar."""

    def __init__(self, followers: Followers) -> None:
        self.followers = followers
        self.place = followers.root

    def allowed(self, device: Any) -> Any:
        """Whether a token may follow [vocabulary].

        :raises KitError: if it takes too long to find, or none may
        """
        with self.followers.bounded():
            return self.followers.mask(self.place, device)

    def accept(self, token: int) -> None:
        with self.followers.bounded():
            for byte in self.followers.tokens.token_bytes.of(token):
                self.place = self.followers.grammar.next(self.place, byte)

    def is_over(self, ends: set[int]) -> bool:
        """Whether nothing may follow, where no token would say so."""
        return not ends and self.place is self.followers.grammar.empty
