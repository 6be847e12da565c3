"""Kit's messages over stdin, read on a thread; end of file means that Kit is gone."""

import ctypes
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

from .errors import ANSWER_MEMORY_ADVICE, DEBUG_ADVICE, failure_of, fault_of

# How long a native call may outlive Kit.
GRACE_SECONDS = 3.0
PR_SET_PDEATHSIG = 1


class RequestQueue:
    """A queue of Kit's requests. Setting `cancelled` cancels all of them."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.cancelled = threading.Event()
        self.cancelled_ids: set[int] = set()
        self.requests: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.requests.get, None)

    def put(self, message: dict[str, Any]) -> None:
        if message["type"] != "cancel":
            self.requests.put(without_surrogates(message))
        elif "id" in message:
            self.cancelled_ids.add(message["id"])
        else:
            self.cancelled.set()

    def failure(self, error: BaseException) -> dict[str, Any]:
        """The failure message for the error being handled."""
        if os.environ.get("DEBUG") == "kit":
            traceback.print_exc()
        code, message = failure_of(error, DEBUG_ADVICE, ANSWER_MEMORY_ADVICE)
        return {"code": code, "message": message, **fault_of(error)}


class Inbox(RequestQueue):
    """`job` is the first line; `cancelled` is set on request, or when Kit is gone."""

    def __init__(self) -> None:
        first = sys.stdin.buffer.readline()
        if not first:
            os._exit(1)
        super().__init__(json.loads(first))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            self.put(json.loads(line))
        self.cancelled.set()
        self.requests.put(None)
        # Native calls don't check the flag.
        time.sleep(GRACE_SECONDS)
        os._exit(1)


def end_with_parent() -> None:
    """Makes Linux kill this process with its parent, even in a call that holds the GIL."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have exited already.
    if os.getppid() != parent:
        os._exit(1)


def without_surrogates(value: Any) -> Any:
    """Replaces lone surrogates, which JSON can spell and UTF-8 can't, by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
