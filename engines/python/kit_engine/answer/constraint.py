"""Which tokens an answer may have next."""

from typing import Any

import numpy as np
import torch

from ..process.errors import KitError
from .decoding import TokenBytes
from .grammar import Grammar

# Bytes of a token. Longer ones, such as those of a hundred spaces, are left out: a shorter one can
# always begin.
MAX_TOKEN_BYTES = 64
# Places in a grammar whose tokens are kept, and those whose bytes are.
MAX_MASKS = 256
MAX_ROWS = 20_000


class SpokenTokens:
    """The tokens that answers are made of, by their bytes.

    :param unspoken: whether an answer is not made of a token [vocabulary]
    """

    def __init__(self, token_bytes: TokenBytes, unspoken: Any, ends: set[int]) -> None:
        spoken = [int(one) for one in (~unspoken).nonzero()[:, 0] if int(one) not in ends]
        found = [(one, token_bytes.of(one)) for one in spoken]
        kept = [(one, text) for one, text in found if 0 < len(text) <= MAX_TOKEN_BYTES]
        self.vocabulary = len(unspoken)
        self.ends = sorted(one for one in ends if one < self.vocabulary)
        self.ids = np.array([one for one, _ in kept], dtype=np.int64)
        self.lengths = np.array([len(text) for _, text in kept], dtype=np.int64)
        padded = b"".join(text.ljust(MAX_TOKEN_BYTES, b"\0") for _, text in kept)
        # [tokens, bytes]
        self.bytes = np.frombuffer(padded, dtype=np.uint8).reshape(-1, MAX_TOKEN_BYTES)
        self.token_bytes = token_bytes


class Followers:
    """What may follow at each place of a Grammar, from its first two parameters."""

    def __init__(self, form: str, count: int, tokens: SpokenTokens) -> None:
        self.tokens = tokens
        self.grammar = Grammar(form, count, tokens.token_bytes.drops_space)
        self.masks: dict[int, Any] = {}
        self.rows: dict[int, Any] = {}

    def mask(self, place: int, device: Any) -> Any:
        """Whether a token may follow [vocabulary]."""
        place = self.grammar.clamp(place, MAX_TOKEN_BYTES)
        found = self.masks.get(place)
        if found is None:
            if len(self.masks) == MAX_MASKS:
                self.masks.clear()
            found = self.masks[place] = self._mask(place).to(device)
        return found

    def row(self, place: int) -> Any:
        """The place after each byte, 0 for none."""
        found = self.rows.get(place)
        if found is None:
            if len(self.rows) == MAX_ROWS:
                self.rows.clear()
            found = self.rows[place] = np.array(self.grammar.row(place), dtype=np.int32)
        return found

    def _mask(self, place: int) -> Any:
        tokens = self.tokens
        mask = torch.zeros(tokens.vocabulary, dtype=torch.bool)
        if self.grammar.is_whole(place):
            mask[tokens.ends] = True
        # Of all tokens at once, the place after each byte.
        left = np.arange(len(tokens.ids))
        places = np.full(len(left), place)
        for depth in range(MAX_TOKEN_BYTES):
            places = self._after(places, tokens.bytes[left, depth])
            left, places = left[places > 0], places[places > 0]
            is_whole = tokens.lengths[left] == depth + 1
            mask[tokens.ids[left[is_whole]]] = True
            left, places = left[~is_whole], places[~is_whole]
            if len(left) == 0:
                break
        if not mask.any():
            raise KitError(
                "REQUEST_INVALID",
                "The model's tokenizer has no token for what the schema wants next. Use another "
                "model, or a schema with plainer texts.",
            )
        return mask

    def _after(self, places: Any, after: Any) -> Any:
        """The places after a byte each."""
        some = np.flatnonzero(np.bincount(places))
        index = np.zeros(some[-1] + 1 if len(some) else 0, dtype=np.int64)
        index[some] = np.arange(len(some))
        rows = [self.row(int(place)) for place in some]
        return np.stack(rows)[index[places], after] if rows else places


class Constraint:
    """Where an answer is in a grammar."""

    def __init__(self, followers: Followers) -> None:
        self.followers = followers
        self.place = followers.grammar.root

    def allowed(self, device: Any) -> Any:
        """Whether a token may follow [vocabulary].

        :raises KitError: if it takes too long to find, or none may
        """
        self.followers.grammar.begin()
        return self.followers.mask(self.place, device)

    def accept(self, token: int) -> None:
        self.followers.grammar.begin()
        for byte in self.followers.tokens.token_bytes.of(token):
            self.place = int(self.followers.row(self.place)[byte])

    def is_over(self, ends: set[int]) -> bool:
        """Whether nothing may follow, where no token would say so."""
        return not ends and self.followers.grammar.is_over(self.place)
