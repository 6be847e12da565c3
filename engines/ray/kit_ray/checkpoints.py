"""Checkpoints between the storage and a node."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

import ray.train
from kit_engine.process.errors import KitError, clause_of

BLOCK_BYTES = 1 << 20
# Pauses between attempts to store: a storage may fail for a moment.
PAUSES_SECONDS = (1.0, 4.0, 16.0)


def store(
    checkpoint: ray.train.Checkpoint, name: str, note: Callable[[str], None]
) -> ray.train.Checkpoint:
    """Stores a checkpoint as Ray does, with retries: an error would end training.

    :raises KitError: if the last attempt fails
    """
    storage = ray.train.get_context().get_storage()
    pauses = iter(PAUSES_SECONDS)
    while True:
        try:
            return storage.persist_current_checkpoint(checkpoint, name)
        except Exception as error:
            pause = next(pauses, None)
            where, why = f"{storage.experiment_fs_path}/{name}", clause_of(error)
            if pause is None:
                raise unstorable(where, why) from error
            note(f"warning: {where} cannot be stored ({why}); trying again in {pause:g} s")
            time.sleep(pause)


def unstorable(where: str, why: str) -> KitError:
    return KitError(
        "CHECKPOINT_UNWRITABLE",
        f"Cannot store {where}: {why}. Check the storage, then run npx kit start --resume.",
    )


def latest_reported() -> str:
    """The name of the newest checkpoint that Ray Train knows after a failure; empty without one."""
    checkpoint = ray.train.get_checkpoint()
    return os.path.basename(checkpoint.path) if checkpoint else ""


def newest(*names: str) -> str:
    """The newest of names such as step-50 or, from a second worker group, step-50-2. Names may be
    empty."""
    return max(names, key=lambda name: [int(number) for number in name.split("-")[1:]])


def open_checkpoint(
    path: str, stack: contextlib.ExitStack, code: str = "CHECKPOINT_INVALID"
) -> str:
    """The folder of a checkpoint at a path or URL, valid while the stack is open.

    :raises KitError: if it is missing
    """
    try:
        folder = stack.enter_context(ray.train.Checkpoint(path).as_directory())
    except FileNotFoundError:
        folder = ""
    if os.path.isdir(folder):
        return folder
    raise gone(path, code)


def gone(path: str, code: str = "CHECKPOINT_INVALID") -> KitError:
    return KitError(code, f"{path} is no longer on the cluster. Use another checkpoint.")


def fingerprints(folder: str) -> dict[str, Any]:
    """The size in bytes and SHA-256 of each file."""
    return {name: fingerprint(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def fingerprint(path: str) -> dict[str, Any]:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return {"size": os.path.getsize(path), "sha256": digest.hexdigest()}
