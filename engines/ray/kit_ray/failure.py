"""How a driver ends when it can't go on."""

import contextlib
import os
import traceback
from typing import NoReturn

from kit_engine.process.channel import Channel

from .job import Job
from .log import print_trace


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
