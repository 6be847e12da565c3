"""The process's entry point: sends `hello`, runs a mode, and ends with one last message."""

import os
import signal
import sys
import traceback
from contextlib import suppress

from .process.channel import Channel, take_stdout
from .process.environment import say_hello
from .process.errors import DEBUG_ADVICE, Cancelled, failure_of
from .process.inbox import Inbox, end_with_parent


def run(mode: str) -> None:
    """Does not return: library threads must not keep the process alive."""
    channel = take_stdout()
    end_with_parent()
    # Kit handles Ctrl-C, and Ctrl-Break on Windows.
    for name in ("SIGINT", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    code = 1
    # The pipe breaks once Kit is gone.
    with suppress(BrokenPipeError):
        code = exit_code_of(mode, channel)
    sys.stderr.flush()
    os._exit(code)


def exit_code_of(mode: str, channel: Channel) -> int:
    """Runs the mode and sends the last message."""
    try:
        say_hello(channel, sys.executable, {})
        run_mode(mode, channel)
    except Cancelled:
        channel.send("cancelled")
    except BrokenPipeError:
        raise
    except BaseException as error:  # noqa: BLE001
        if os.environ.get("DEBUG") == "kit":
            traceback.print_exc()
        code, message = failure_of(error, DEBUG_ADVICE)
        channel.send("failed", code=code, message=message)
        return 1
    return 0


def run_mode(mode: str, channel: Channel) -> None:
    """Imports torch and transformers, which takes seconds, only now."""
    inbox = Inbox()
    channel.note("loading PyTorch")
    if mode == "train":
        from .train.train import train

        train(inbox.job, channel, inbox.cancelled)
        channel.send("done")
    elif mode == "check":
        from .train.check import check

        channel.send("done", check=check(inbox.job, channel))
    elif mode == "config":
        # Refuses a model that needs custom code, before its weights are downloaded.
        from .model.models import assert_safe

        assert_safe(inbox.job["folder"])
        channel.send("done")
    else:
        from .answer.answer import answer

        answer(inbox, channel)
        channel.send("done")
