"""Batches an answer's tokens into messages to Kit."""

import time
from collections.abc import Callable
from typing import Any

from .decoding import AnswerText


class TokenStream:
    """
    :param send: takes tokens as JSON, each with its text and log probability
    :param seconds: minimum between two messages; None sends all at the end
    """

    def __init__(
        self, send: Callable[[list[dict[str, Any]]], None], text: AnswerText, seconds: float | None
    ) -> None:
        self.send = send
        self.text = text
        self.seconds = seconds
        self.pending: list[dict[str, Any]] = []
        self.sent = 0.0

    def add(self, token: int, logprob: dict[str, Any] | None) -> None:
        token_message: dict[str, Any] = {"id": token, "text": self.text.push(token)}
        self.pending.append(
            token_message if logprob is None else token_message | {"logprob": logprob}
        )
        if self.seconds is not None and time.monotonic() - self.sent >= self.seconds:
            self.flush()

    def flush(self) -> None:
        if not self.pending:
            return
        self.sent = time.monotonic()
        tokens, self.pending = self.pending, []
        self.send(tokens)
