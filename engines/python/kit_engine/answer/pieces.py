"""An answer's tokens on their way to Kit, some in one message."""

import time
from collections.abc import Callable
from typing import Any

from .decoding import AnswerText


class Pieces:
    """
    :param send: takes some tokens as JSON has them, each with its text and its log probability
    :param seconds: between two messages at least; None sends all at the end
    """

    def __init__(
        self, send: Callable[[list[dict[str, Any]]], None], text: AnswerText, seconds: float | None
    ) -> None:
        self.send = send
        self.text = text
        self.seconds = seconds
        self.waiting: list[dict[str, Any]] = []
        self.sent = 0.0

    def add(self, token: int, logprob: dict[str, Any] | None) -> None:
        piece: dict[str, Any] = {"id": token, "text": self.text.push(token)}
        self.waiting.append(piece if logprob is None else piece | {"logprob": logprob})
        if self.seconds is not None and time.monotonic() - self.sent >= self.seconds:
            self.flush()

    def flush(self) -> None:
        if not self.waiting:
            return
        self.sent = time.monotonic()
        tokens, self.waiting = self.waiting, []
        self.send(tokens)
