"""Prints as libraries do while it sends messages: noise.py <engine's folder> <messages>."""

import ctypes
import subprocess
import sys
import threading

sys.path.insert(0, sys.argv[1])

from kit_engine.process.channel import take_stdout

libc = ctypes.CDLL(None)
channel = take_stdout()
stop = threading.Event()


def print_much() -> None:
    i = 0
    while not stop.is_set():
        i += 1
        sys.stdout.write(f"\rEpoch {i}%|####|")
        if i % 20 == 0:
            print('{"kit": 1, "seq": 0, "type": "event"}', flush=True)
        if i % 50 == 0:
            libc.printf(b"from C %d\n", i)
            libc.fflush(None)
        if i % 4000 == 0:
            subprocess.run(["echo", "from a child"], check=True)


noise = threading.Thread(target=print_much)
noise.start()
for _ in range(int(sys.argv[2])):
    channel.event("training.log", {"step": 1, "loss": float("nan")})
stop.set()
noise.join()
channel.send("done")
