"""Log probabilities over the whole vocabulary, at temperature 1."""

from typing import Any

from .decoding import TokenBytes


class Logprobs:
    """Log probabilities in the format of `InferResult`.

    :param logprobs: of each token [vocabulary]
    :param count: number of top tokens
    """

    def __init__(self, logprobs: Any, count: int, token_bytes: TokenBytes) -> None:
        self.logprobs = logprobs
        self.token_bytes = token_bytes
        # Ties are ordered by id.
        order = logprobs.sort(descending=True, stable=True).indices[:count] if count else []
        self.top = [self._of(int(token)) for token in order]

    def of(self, token: int) -> dict[str, Any]:
        return {**self._of(token), "top": self.top}

    def _of(self, token: int) -> dict[str, Any]:
        content = self.token_bytes.of(token)
        return {
            "token": content.decode("utf-8", "replace"),
            "bytes": list(content),
            "logprob": min(0.0, float(self.logprobs[token])),
        }
