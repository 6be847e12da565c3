"""Writes checkpoints atomically."""

import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

from safetensors import SafetensorError

from ..process.errors import KitError

ARTIFACTS = "artifacts"
# Read by disk/checksums.ts.
CHECKSUMS = "checksums.json"
BLOCK_BYTES = 1 << 20
# As disk/move.ts: about a second in all.
PAUSES = [2**i / 1000 for i in range(10)]


def checkpoint_path(step: int) -> str:
    """Path in the job's directory, with forward slashes."""
    return f"{ARTIFACTS}/step-{step}"


def partial_path(path: str) -> str:
    """A folder's path until it is complete."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.partial")


def write_directory(path: str, fill: Callable[[str], None]) -> None:
    """Fills a temporary folder, flushes it to disk, and renames it."""
    partial = partial_path(path)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        fill(partial)
        write_checksums(partial)
        for name in os.listdir(partial):
            sync(os.path.join(partial, name))
        sync(partial)
        shutil.rmtree(path, ignore_errors=True)
        move(partial, path)
        sync(os.path.dirname(path))
    except (OSError, SafetensorError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise KitError(
            "CHECKPOINT_UNWRITABLE",
            f"Cannot save {path}: {why}. Make the folder writable, or free disk space.",
        ) from error


def write_checksums(folder: str) -> None:
    """Records each file's checksum, which a resume verifies."""
    names = sorted(name for name in os.listdir(folder) if name != CHECKSUMS)
    checksums = {name: checksum(os.path.join(folder, name)) for name in names}
    with open(os.path.join(folder, CHECKSUMS), "w", encoding="utf-8") as file:
        json.dump(checksums, file, indent=2)


def checksum(path: str) -> dict[str, Any]:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(BLOCK_BYTES):
            value = zlib.crc32(block, value)
    return {"size": os.path.getsize(path), "crc32": f"{value:08x}"}


def move(source: str, target: str) -> None:
    """Windows refuses while another process, such as a virus scanner, has one of the files open."""
    for pause in PAUSES:
        try:
            return os.rename(source, target)
        except PermissionError:
            if sys.platform != "win32":
                raise
            time.sleep(pause)
    os.rename(source, target)


def sync(path: str) -> None:
    # Windows can't flush folders, and flushes only a file that is open for writing.
    if sys.platform == "win32" and os.path.isdir(path):
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
