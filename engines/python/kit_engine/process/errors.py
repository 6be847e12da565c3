"""Errors that users can act on."""

import re
import sys
from typing import Any

MEMORY_ADVICE = (
    "Use a smaller batchSize with more gradientAccumulationSteps, a smaller maxLength or model, "
    "or gradientCheckpointing, or train an adapter with lora."
)
# For inference, whose KV cache grows with each token.
ANSWER_MEMORY_ADVICE = "Use a smaller model, shorter prompts or a smaller maxTokens."
# For a process on this machine; its stderr goes to Kit's.
DEBUG_ADVICE = "Run again with DEBUG=kit to see where."
# Escape sequences that color text in a terminal.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class KitError(Exception):
    """An error whose message says what happened and what to do. protocol/error.ts lists the codes.

    :param fault: the part of a request at fault, as in protocol/error.ts
    """

    def __init__(self, code: str, message: str, fault: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.fault = fault

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        # Pickle would call the class with only the message.
        return KitError, (self.code, str(self), self.fault)


def fault_of(error: BaseException) -> dict[str, Any]:
    """The error's fault as a field of a failure message, if it has one."""
    fault = error.fault if isinstance(error, KitError) else None
    return {} if fault is None else {"fault": fault}


class Cancelled(Exception):
    """Training was cancelled."""


def failure_of(
    error: BaseException, advice: str, memory_advice: str = MEMORY_ADVICE
) -> tuple[str, str]:
    """An error's code and message for people, with advice for unexpected errors."""
    if isinstance(error, KitError):
        return error.code, str(error)
    text, kind = ESCAPES.sub("", str(error)), type(error).__name__
    lower = text.lower()
    mentions_oom = "out of memory" in lower or "status_alloc_failed" in lower
    if mentions_oom and ("cuda" in lower or "cudnn" in lower):
        return "OUT_OF_MEMORY", f"The GPU ran out of memory{gpu_use_of_others()}. {memory_advice}"
    is_memory = isinstance(error, MemoryError) or kind == "OutOfMemoryError"
    if is_memory or "out of memory" in lower or "allocate memory" in lower:
        return "OUT_OF_MEMORY", f"The Python process ran out of memory. {memory_advice}"
    return "WORKER_FAILED", f"The Python engine failed: {clause_of(error)}. {advice}"


def clause_of(error: BaseException) -> str:
    """An error's type and the first line of its message, without a period."""
    text = ESCAPES.sub("", str(error)).strip()
    line = text.splitlines()[0].rstrip(".") if text else "no message"
    return f"{type(error).__name__}: {line}"


# The least GPU memory of other programs that is worth reporting.
MIN_REPORTED_BYTES = 2**31


def gpu_use_of_others() -> str:
    """A clause about other programs' GPU memory, or nothing if they use little."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return ""
    try:
        free, total = torch.cuda.mem_get_info()
    except RuntimeError:
        # Not even enough memory for the query.
        return "; other programs are using it (nvidia-smi lists them)"
    others = total - free - torch.cuda.memory_reserved()
    if others < MIN_REPORTED_BYTES:
        return ""
    return (
        f"; other programs are using {others / 2**30:.0f} of its {total / 2**30:.0f} GiB "
        "(nvidia-smi lists them)"
    )
