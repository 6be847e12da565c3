"""Limits for a model's files: time and memory of templates, backtracking of tokenizers."""

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jinja2.sandbox import SandboxedEnvironment

from .constants import CONSTANTS
from .errors import KitError

# CPU time for rendering a conversation.
MAX_SECONDS = CONSTANTS["templateSeconds"]
CHECK_EVERY_SECONDS = 0.25
# Memory that a template may add to the process.
MAX_BYTES = 2**30
# Limits of `**`: larger operands take minutes in one uninterruptible native call.
MAX_BASE, MAX_EXPONENT = 10**6, 64


class TooSlow(Exception):
    """Raised asynchronously by class, so it takes no arguments."""

    def __str__(self) -> str:
        return f"it takes more than {MAX_SECONDS:g} s"


class TooLarge(Exception):
    def __str__(self) -> str:
        return f"it takes more than {MAX_BYTES // 2**20:,} MiB of memory"


class Watchdog:
    """Interrupts Python code that takes too long or too much memory, on any thread, once a native
    call returns."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        # Deadlines by thread.
        self.deadlines: dict[int, float] = {}
        self.is_running = False

    @contextmanager
    def limit(self) -> Iterator[None]:
        """
        :raises TooSlow:
        :raises TooLarge:
        """
        if not self.is_running:
            self.is_running = True
            threading.Thread(target=self._run, daemon=True).start()
        thread = threading.get_ident()
        self.deadlines[thread] = seconds_of(thread) + MAX_SECONDS
        try:
            with limited_memory():
                yield
        except MemoryError as error:
            raise TooLarge from error
        finally:
            with self.lock:
                self.deadlines.pop(thread, None)

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_EVERY_SECONDS)
            with self.lock:
                for thread, end in list(self.deadlines.items()):
                    if end < seconds_of(thread):
                        del self.deadlines[thread]
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(TooSlow)
                        )


def seconds_of(thread: int) -> float:
    """A thread's CPU time, unaffected by other load; wall-clock time if the system lacks it."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    return time.monotonic()


TEMPLATES = Watchdog()


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limits the whole process, since its other threads wait or need little meanwhile."""
    used = data_bytes()
    if used == 0:
        yield
        return
    # Not on Windows.
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + MAX_BYTES
    if soft != resource.RLIM_INFINITY and soft < limit:
        yield
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def data_bytes() -> int:
    """This process's memory as the limit counts it; 0 if unknown (macOS, Windows)."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def limited_power(base: Any, exponent: Any) -> Any:
    if abs(base) > MAX_BASE or abs(exponent) > MAX_EXPONENT:
        raise OverflowError(f"{base} ** {exponent} is too large")
    return base**exponent


# Set before any template is compiled, since the compiler folds constants.
SandboxedEnvironment.intercepted_binops = frozenset(["**"])
SandboxedEnvironment.default_binop_table = {
    **SandboxedEnvironment.default_binop_table,
    "**": limited_power,
}


def encode(text: str, tokenizer: Any, **options: Any) -> Any:
    with catching_panic(tokenizer, f"a text of {len(text)} characters"):
        return tokenizer(text, **options)


def decode(ids: list[int], tokenizer: Any, **options: Any) -> str:
    with catching_panic(tokenizer, f"{len(ids)} tokens"):
        return str(tokenizer.decode(ids, **options))


@contextmanager
def catching_panic(tokenizer: Any, what: str) -> Iterator[None]:
    """The library panics on excessive backtracking, and a panic isn't an Exception."""
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
