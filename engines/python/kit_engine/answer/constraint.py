"""Constrains an answer's tokens to a grammar."""

from typing import Any

import numpy as np
import torch

from ..process.errors import KitError
from .decoding import TokenBytes
from .grammar import Grammar

# Longer tokens, such as a hundred spaces, are excluded: shorter ones can spell the same text.
MAX_TOKEN_BYTES = 64
# Limits of the cached masks and transitions of a grammar's states.
MAX_MASKS = 256
MAX_TRANSITIONS = 20_000


class TextTokens:
    """The tokens that answers may contain, by their bytes.

    :param suppressed: whether a token is excluded [vocabulary]
    """

    def __init__(self, token_bytes: TokenBytes, suppressed: Any, stop_token_ids: set[int]) -> None:
        allowed_ids = (~suppressed).nonzero()[:, 0].tolist()
        text_ids = [token for token in allowed_ids if token not in stop_token_ids]
        texts = [(token, token_bytes.of(token)) for token in text_ids]
        allowed = [(token, text) for token, text in texts if 0 < len(text) <= MAX_TOKEN_BYTES]
        self.vocabulary = len(suppressed)
        self.stop_token_ids = sorted(token for token in stop_token_ids if token < self.vocabulary)
        self.ids = np.array([token for token, _ in allowed], dtype=np.int64)
        self.lengths = np.array([len(text) for _, text in allowed], dtype=np.int64)
        padded = b"".join(text.ljust(MAX_TOKEN_BYTES, b"\0") for _, text in allowed)
        # [tokens, bytes]
        self.bytes = np.frombuffer(padded, dtype=np.uint8).reshape(-1, MAX_TOKEN_BYTES)
        self.token_bytes = token_bytes


class TokenMasks:
    """The allowed tokens in each state of a `Grammar` of the same spec and count."""

    def __init__(self, spec: str, count: int, tokens: TextTokens) -> None:
        self.tokens = tokens
        self.grammar = Grammar(spec, count, tokens.token_bytes.drops_space)
        self.masks: dict[int, Any] = {}
        self.transitions: dict[int, Any] = {}

    def mask(self, state: int, device: Any) -> Any:
        """Whether each token is allowed [vocabulary]."""
        state = self.grammar.clamp(state, MAX_TOKEN_BYTES)
        found = self.masks.get(state)
        if found is None:
            if len(self.masks) == MAX_MASKS:
                self.masks.clear()
            found = self.masks[state] = self._mask(state).to(device)
        return found

    def transitions_from(self, state: int) -> Any:
        """The state after each byte; 0 if it isn't allowed."""
        found = self.transitions.get(state)
        if found is None:
            if len(self.transitions) == MAX_TRANSITIONS:
                self.transitions.clear()
            found = self.transitions[state] = np.array(
                self.grammar.transitions(state), dtype=np.int32
            )
        return found

    def _mask(self, state: int) -> Any:
        tokens = self.tokens
        mask = torch.zeros(tokens.vocabulary, dtype=torch.bool)
        if self.grammar.is_accepting(state):
            mask[tokens.stop_token_ids] = True
        # Advances all tokens at once, byte by byte.
        active = np.arange(len(tokens.ids))
        states = np.full(len(active), state)
        for depth in range(MAX_TOKEN_BYTES):
            states = self._step(states, tokens.bytes[active, depth])
            active, states = active[states > 0], states[states > 0]
            is_last = tokens.lengths[active] == depth + 1
            mask[tokens.ids[active[is_last]]] = True
            active, states = active[~is_last], states[~is_last]
            if len(active) == 0:
                break
        if not mask.any():
            raise KitError(
                "REQUEST_INVALID",
                "The model has no token that continues the answer as the schema requires. "
                "Change the schema, or use another model.",
            )
        return mask

    def _step(self, states: Any, next_bytes: Any) -> Any:
        """The states after one byte each."""
        distinct = np.flatnonzero(np.bincount(states))
        index = np.zeros(distinct[-1] + 1 if len(distinct) else 0, dtype=np.int64)
        index[distinct] = np.arange(len(distinct))
        transitions = [self.transitions_from(int(state)) for state in distinct]
        return np.stack(transitions)[index[states], next_bytes] if transitions else states


class Constraint:
    """An answer's state in a grammar."""

    def __init__(self, masks: TokenMasks) -> None:
        self.masks = masks
        self.state = masks.grammar.root

    def allowed(self, device: Any) -> Any:
        """Whether each token is allowed [vocabulary].

        :raises KitError: if the grammar takes too long, or allows no token
        """
        self.masks.grammar.begin()
        return self.masks.mask(self.state, device)

    def accept(self, token: int) -> None:
        self.masks.grammar.begin()
        for byte in self.masks.tokens.token_bytes.of(token):
            self.state = int(self.masks.transitions_from(self.state)[byte])

    def is_complete(self, stop_token_ids: set[int]) -> bool:
        """Whether the answer is complete, for a model without stop tokens."""
        return not stop_token_ids and self.masks.grammar.is_done(self.state)
