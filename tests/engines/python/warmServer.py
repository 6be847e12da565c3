"""Imports what the engine imports, once, and runs each program that warm.py brings in a fork of it.

Imports take most of the time of a small training. Ends when its stdin does.

warmServer.py <socket> <module> …, which are imported, too
"""

import contextlib
import gc
import importlib
import os
import runpy
import signal
import socket
import sys
import threading

import peft  # noqa: F401
import torch  # noqa: F401
import transformers.trainer  # noqa: F401
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer  # noqa: F401

MOST_BYTES = 1 << 20


def run(words: list[str], descriptors: list[int]) -> None:
    """As Python itself does with a program's path, or a module. Does not return."""
    count = int(words[0])
    os.environ.clear()
    os.environ.update(one.split("=", 1) for one in words[1 : 1 + count])
    os.chdir(os.environ["KIT_WARM_FOLDER"])
    for to, descriptor in enumerate(descriptors):
        os.dup2(descriptor, to)
    sys.path[1:1] = [one for one in os.environ.get("PYTHONPATH", "").split(":") if one]
    sys.argv = words[1 + count :]
    if sys.argv[0] == "-m":
        sys.argv.pop(0)
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(sys.argv[0])
        runpy.run_path(sys.argv[0], run_name="__main__")
    os._exit(0)


def serve(connection: socket.socket) -> None:
    """One program: ends with it, and ends it when whoever asked is gone. Does not return."""
    message, descriptors, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
    worker = os.fork()
    if worker == 0:
        connection.close()
        try:
            run(message.decode().split("\0"), descriptors)
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)

    def watch() -> None:
        connection.recv(1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    _, status = os.waitpid(worker, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    # A collection in a fork would copy every page.
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(sys.argv[1])
    listener.listen()
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            serve(connection)
        connection.close()


main()
