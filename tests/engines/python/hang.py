"""Hangs in a call that knows nothing of Python: hang.py <engine's folder> <holds | releases>."""

import ctypes
import sys

sys.path.insert(0, sys.argv[1])

from kit_engine.process.channel import take_stdout
from kit_engine.process.inbox import Inbox, end_with_parent

channel = take_stdout()
end_with_parent()
Inbox()
channel.note("ready")
# PyDLL holds Python's lock meanwhile, so that no thread of Python has its turn.
library = ctypes.PyDLL(None) if sys.argv[2] == "holds" else ctypes.CDLL(None)
library.sleep(600)
