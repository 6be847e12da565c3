"""The driver's log, which Kit reads: Kit's messages among other output."""

import contextlib
import os
import sys
import textwrap
import traceback
from typing import NoReturn

from kit_engine.process.channel import Channel, take_stdout
from kit_engine.process.constants import CONSTANTS

from .job import Job

# The environment variable with the job's secret.
SECRET = CONSTANTS["secretVariable"]


def open_channel() -> Channel:
    """A channel whose messages have the job's secret, so that no other output can pass for one."""
    # Other output may lack a trailing line break.
    return take_stdout("\n", {"secret": os.environ[SECRET]})


def print_trace(text: str) -> None:
    """Prints a traceback, indented so that none of its lines can pass for a message."""
    sys.stderr.write(textwrap.indent(text, "| "))


def fail(job: Job, channel: Channel, error: BaseException) -> NoReturn:
    """Reports the error as the last message. All workers end with this process."""
    try:
        with contextlib.suppress(OSError):
            print_trace("".join(traceback.format_exception(error)))
        code, message = job.failure(cause_of(error))
        channel.send("failed", code=code, message=message)
    finally:
        os._exit(1)


def cause_of(error: BaseException) -> BaseException:
    """A worker's own error, unwrapped from Ray's."""
    failures = getattr(error, "worker_failures", None)
    inner = [*(failures or {}).values()]
    inner += [getattr(error, name, None) for name in ("controller_failure", "cause")]
    return next((cause_of(cause) for cause in inner if isinstance(cause, BaseException)), error)
