"""What the files of a model may cost: seconds of a template, tries of a tokenizer's pattern."""

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .constants import CONSTANTS
from .errors import KitError

# Of a conversation, whatever the template says.
LONGEST_SECONDS = CONSTANTS["templateSeconds"]
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
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(TooSlow)
                        )


TEMPLATES = Watch()


def encode(text: str, tokenizer: Any, **options: Any) -> Any:
    with surviving_panic(tokenizer, f"a text of {len(text)} characters"):
        return tokenizer(text, **options)


def decode(ids: list[int], tokenizer: Any, **options: Any) -> str:
    with surviving_panic(tokenizer, f"{len(ids)} tokens"):
        return str(tokenizer.decode(ids, **options))


@contextmanager
def surviving_panic(tokenizer: Any, what: str) -> Iterator[None]:
    """The library panics over a pattern that takes too many tries, and a panic is no Exception."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        fails = "takes too long for" if "retry-limit" in str(error) else "fails on"
        path = os.path.join(tokenizer.name_or_path, "tokenizer.json")
        raise KitError(
            "CHECKPOINT_INVALID", f"The tokenizer at {path} {fails} {what}. Use another model."
        ) from error
