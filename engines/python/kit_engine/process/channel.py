"""The line to Kit: messages that no library's print can tear."""

import json
import math
import os
import sys
import threading
from typing import Any

from .constants import CONSTANTS


class Channel:
    """Writes messages, each a line of JSON with a number of its own, from any thread."""

    def __init__(
        self, descriptor: int, before: str = "", marks: dict[str, Any] | None = None
    ) -> None:
        self.descriptor = descriptor
        # Of each message, where others print to the same file.
        self.before = before
        self.marks = {"kit": CONSTANTS["messageVersion"], **(marks or {})}
        self.lock = threading.Lock()
        self.seq = 0

    def send(self, type: str, **fields: Any) -> None:
        with self.lock:
            seq = self.seq + 1
            message = {**self.marks, "seq": seq, "type": type, **finite(fields)}
            # ASCII alone, so that no character counts as the end of a line.
            line = f"{self.before}{json.dumps(message, ensure_ascii=True)}\n"
            left = memoryview(line.encode())
            while left:
                left = left[os.write(self.descriptor, left) :]
            # The number of a message that could not be written is the next one's.
            self.seq = seq

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """A checkpoint is whole in the job's directory, on the first worker."""
        self.event("checkpoint.saved", data)


def take_stdout(before: str = "", marks: dict[str, Any] | None = None) -> Channel:
    """A private copy of stdout. What anyone prints from now on, C code too, goes to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    return Channel(private, before, marks)


def finite(value: Any) -> Any:
    """The value as JSON can have it: a number that is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value
