"""What the files of a model may cost: seconds of a template, tries of a tokenizer's pattern."""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import KitError

# Of a conversation, whatever the template says. As the embedded engine's.
LONGEST_SECONDS = 3.0
CHECK_EVERY_SECONDS = 0.25


class TooSlow(Exception):
    """Its class is raised from outside, so that it takes no words."""

    def __str__(self) -> str:
        return f"it takes more than {LONGEST_SECONDS:g} s"


class Watch:
    """Ends Python code that takes too long, on any thread. A native call is over first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        # By the threads that are watched.
        self.ends: dict[int, float] = {}
        self.is_running = False

    @contextmanager
    def limit(self) -> Iterator[None]:
        """
        :raises TooSlow:
        """
        if not self.is_running:
            self.is_running = True
            threading.Thread(target=self._run, daemon=True).start()
        thread = threading.get_ident()
        self.ends[thread] = time.monotonic() + LONGEST_SECONDS
        try:
            yield
        finally:
            with self.lock:
                self.ends.pop(thread, None)

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_EVERY_SECONDS)
            with self.lock:
                now = time.monotonic()
                for thread, end in list(self.ends.items()):
                    if end < now:
                        del self.ends[thread]
                        number = ctypes.c_ulong(thread)
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(TooSlow))


TEMPLATES = Watch()
