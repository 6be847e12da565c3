"""The driver's log, which Kit reads: its messages, between what everyone else prints there."""

import contextlib
import os
import sys
import textwrap
import traceback
from typing import NoReturn

from kit_engine.process.channel import Channel, take_stdout
from kit_engine.process.constants import CONSTANTS

from .job import Job

# The job's, from Kit.
SECRET = CONSTANTS["secretVariable"]


def open_channel() -> Channel:
    """Its messages carry the job's secret, which a text that is printed beside them can't know."""
    # What others print has no line's end, at times.
    return take_stdout("\n", {"secret": os.environ[SECRET]})


def print_trace(text: str) -> None:
    """Prints a traceback. Its lines may be a model's own words, and none begins as a message."""
    sys.stderr.write(textwrap.indent(text, "| "))


def fail(job: Job, channel: Channel, error: BaseException) -> NoReturn:
    """Tells the error in the last message. Every worker ends with this process."""
    try:
        with contextlib.suppress(OSError):
            print_trace("".join(traceback.format_exception(error)))
        code, message = job.failure(cause_of(error))
        channel.send("failed", code=code, message=message)
    finally:
        os._exit(1)


def cause_of(error: BaseException) -> BaseException:
    """A worker's own error, out of those that Ray wraps it in."""
    failures = getattr(error, "worker_failures", None)
    inner = [*(failures or {}).values()]
    inner += [getattr(error, name, None) for name in ("controller_failure", "cause")]
    return next((cause_of(one) for one in inner if isinstance(one, BaseException)), error)
