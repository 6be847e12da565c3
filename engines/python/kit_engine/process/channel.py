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
        self, descriptor: int, before: str = "", marks: dict[str, Any] | None = None
    ) -> None:
        self.descriptor = descriptor
        # Prefix of each message, in case others print to the same file.
        self.before = before
        self.marks = {"kit": CONSTANTS["messageVersion"], **(marks or {})}
        self.lock = threading.Lock()
        self.seq = 0

    def send(self, type: str, **fields: Any) -> None:
        with self.lock:
            seq = self.seq + 1
            message = {**self.marks, "seq": seq, "type": type, **finite(fields)}
            # ASCII only, so no character counts as a line break.
            line = f"{self.before}{json.dumps(message, ensure_ascii=True)}\n"
            left = memoryview(line.encode())
            while left:
                left = left[os.write(self.descriptor, left) :]
            # A failed write doesn't use up a number.
            self.seq = seq

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """Reports a complete checkpoint in the job's directory, on the first worker."""
        self.event("checkpoint.saved", data)


def take_stdout(before: str = "", marks: dict[str, Any] | None = None) -> Channel:
    """A private copy of stdout. From now on, all other output, even of C code, goes to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    return Channel(private, before, marks)


def finite(value: Any) -> Any:
    """Replaces non-finite numbers by None, since JSON lacks them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value
