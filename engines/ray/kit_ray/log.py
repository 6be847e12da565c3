"""The driver's log, which Kit reads: its messages, between what everyone else prints there."""

import os
import sys
import textwrap

from kit_engine.process.channel import Channel, take_stdout
from kit_engine.process.constants import CONSTANTS

# The job's, from Kit.
SECRET = CONSTANTS["secretVariable"]


def open_channel() -> Channel:
    """Its messages carry the job's secret, which a text that is printed beside them can't know."""
    # What others print has no line's end, at times.
    return take_stdout("\n", {"secret": os.environ[SECRET]})


def print_trace(text: str) -> None:
    """Prints a traceback. Its lines may be a model's own words, and none begins as a message."""
    sys.stderr.write(textwrap.indent(text, "| "))
