"""Saves on a disk like Windows': windows.py <engine's folder> <to>. Prints what is there."""

import fcntl
import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from kit_engine.train import directory

open_file, flush, rename = os.open, os.fsync, os.rename
pauses = []


def open_as_windows(path: str, flags: int) -> int:
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied")
    return open_file(path, flags)


def flush_as_windows(descriptor: int) -> None:
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "Bad file descriptor")
    flush(descriptor)


def rename_as_windows(source: str, target: str) -> None:
    if len(pauses) < 3:
        raise PermissionError(13, "Permission denied")
    rename(source, target)


def fill(folder: str) -> None:
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(b"weights")


directory.time.sleep = pauses.append
sys.platform = "win32"
os.open, os.fsync, os.rename = open_as_windows, flush_as_windows, rename_as_windows
directory.write_directory(sys.argv[2], fill)
print(json.dumps([sorted(os.listdir(sys.argv[2])), pauses]))
