"""Checkpoints on the disk: whole when they have their names."""

import os
import shutil
from collections.abc import Callable

from safetensors import SafetensorError

from .errors import KitError

ARTIFACTS = "artifacts"


def checkpoint_path(step: int) -> str:
    """Relative to the job's directory, with forward slashes."""
    return f"{ARTIFACTS}/step-{step}"


def partial_of(path: str) -> str:
    """The name of a folder while it is written."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.partial")


def write_directory(path: str, fill: Callable[[str], None]) -> None:
    """Fills a folder under another name, puts all of it on the disk, and renames it."""
    partial = partial_of(path)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        fill(partial)
        for name in os.listdir(partial):
            sync(os.path.join(partial, name))
        sync(partial)
        shutil.rmtree(path, ignore_errors=True)
        os.rename(partial, path)
        sync(os.path.dirname(path))
    except (OSError, SafetensorError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise KitError(
            "CHECKPOINT_UNWRITABLE",
            f"Cannot save {path}: {why}. Make the folder writable, or free disk space.",
        ) from error


def sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
