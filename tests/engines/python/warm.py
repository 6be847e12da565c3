"""Stands for the interpreter: hands its program, input and output to warmServer.py.

warm.py <socket> -B -u <program> <word> …, or with -m <module> in place of the program
"""

import itertools
import os
import signal
import socket
import sys

path, *words = sys.argv[1:]
program = list(itertools.dropwhile(lambda word: word[0] == "-" and word != "-m", words))
env = [f"{name}={value}" for name, value in os.environ.items()]
env.append(f"KIT_WARM_FOLDER={os.getcwd()}")
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
    server.connect(path)
    message = "\0".join([str(len(env)), *env, *program]).encode()
    socket.send_fds(server, [message], [0, 1, 2])
    for descriptor in (0, 1):
        os.close(descriptor)
    code = int(server.recv(16) or b"1")
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
