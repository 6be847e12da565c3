"""The line to Kit: messages that no library's print can tear."""

import json
import math
import os
import sys
import threading
from typing import Any


class Channel:
    """Writes messages, each a line of JSON with a number of its own, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.lock = threading.Lock()
        self.seq = 0

    def send(self, type: str, **fields: Any) -> None:
        with self.lock:
            self.seq += 1
            message = {"kit": 1, "seq": self.seq, "type": type, **finite(fields)}
            # ASCII alone, so that no character counts as the end of a line.
            left = memoryview((json.dumps(message, ensure_ascii=True) + "\n").encode())
            while left:
                left = left[os.write(self.descriptor, left) :]

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)


def take_stdout() -> Channel:
    """A private copy of stdout. What anyone prints from now on, C code too, goes to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    return Channel(private)


def finite(value: Any) -> Any:
    """The value as JSON can have it: a number that is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value
