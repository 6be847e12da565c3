"""Errors that the reader can act on."""

import re

MEMORY_ADVICE = "Use a smaller batchSize, maxLength or model, or train an adapter with lora."
# For answers: their keys and values grow with each token.
ANSWER_MEMORY_ADVICE = "Use a smaller model, shorter prompts or a smaller maxTokens."
# Of a process that Kit starts on its own machine, whose stderr is Kit's.
DEBUG_ADVICE = "Run again with DEBUG=kit to see where."
# Escape sequences that color text in a terminal.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class KitError(Exception):
    """Its message says what happened and what to do; its code is one of protocol/errorCode.ts."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # Pickle would call the class with the message alone.
        return KitError, (self.code, str(self))


class Cancelled(Exception):
    """The training was cancelled."""


def failure_of(
    error: BaseException, advice: str, memory_advice: str = MEMORY_ADVICE
) -> tuple[str, str]:
    """An error's code and its sentence for people, with advice on what nobody expected."""
    if isinstance(error, KitError):
        return error.code, str(error)
    text, kind = ESCAPES.sub("", str(error)), type(error).__name__
    lower = text.lower()
    if "out of memory" in lower and "cuda" in lower:
        return "OUT_OF_MEMORY", f"The GPU ran out of memory. {memory_advice}"
    is_memory = isinstance(error, MemoryError) or kind == "OutOfMemoryError"
    if is_memory or "out of memory" in lower or "allocate memory" in lower:
        return "OUT_OF_MEMORY", f"The Python process ran out of memory. {memory_advice}"
    return "WORKER_FAILED", f"The Python engine failed: {clause_of(error)}. {advice}"


def clause_of(error: BaseException) -> str:
    """An error's kind and the first line of its message, without a period."""
    text = ESCAPES.sub("", str(error)).strip()
    line = text.splitlines()[0].rstrip(".") if text else "no message"
    return f"{type(error).__name__}: {line}"
