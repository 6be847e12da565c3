"""Messages to Kit that library output can't interleave."""

import json
import math
import os
import sys
import threading
from typing import Any

from .constants import CONSTANTS


class Channel:
    """Writes messages as numbered lines of JSON, from any thread."""

    def __init__(
        self, descriptor: int, prefix: str = "", fields: dict[str, Any] | None = None
    ) -> None:
        self.descriptor = descriptor
        # Of each message: they tell it from other output to the same file.
        self.prefix = prefix
        self.fields = {"kit": CONSTANTS["messageVersion"], **(fields or {})}
        self.lock = threading.Lock()
        self.seq = 0

    def send(self, type: str, **fields: Any) -> None:
        with self.lock:
            seq = self.seq + 1
            message = {**self.fields, "seq": seq, "type": type, **finite(fields)}
            # ASCII only: Unicode has more line breaks.
            line = f"{self.prefix}{json.dumps(message, ensure_ascii=True)}\n"
            remaining = memoryview(line.encode())
            while remaining:
                remaining = remaining[os.write(self.descriptor, remaining) :]
            # A failed write doesn't use up a number.
            self.seq = seq

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """Reports a complete checkpoint in the job's directory, on the first worker."""
        self.event("checkpoint.saved", data)


def take_stdout(prefix: str = "", fields: dict[str, Any] | None = None) -> Channel:
    """A channel over a private copy of stdout. Other output, even of C code, goes to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    return Channel(private, prefix, fields)


def finite(value: Any) -> Any:
    """Replaces non-finite numbers by None, since JSON lacks them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
