"""Stages a checkpoint's files where the dashboard can read them, until Kit has them or is gone."""

import glob
import os
import posixpath
import shutil
import signal
import sys
import threading
import time
import traceback

import pyarrow.fs
import ray
from ray.train import Checkpoint

from .checkpoints import gone
from .driver import beat
from .job import failure_in, join_storage
from .log import open_channel, print_trace
from .mailbox import Mailbox

# Pause between two polls for a heartbeat; each poll is a request to the head.
POLL_SECONDS = 1.0


def run(job_id: str, stage: str, idle_seconds: float, path: str, files: list[str]) -> None:
    channel = open_channel()
    threading.Thread(target=beat, args=[channel], daemon=True).start()
    ray.init(address="auto", log_to_driver=False)
    logs = ray._private.worker._global_node.get_logs_dir_path()
    staged = f"kit/{stage}-{job_id}"
    folder = os.path.join(logs, staged)
    mailbox = Mailbox(job_id)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        # Removes files of an attempt whose Kit was killed: each stage has one attempt at a time.
        for stale in glob.glob(os.path.join(logs, f"kit/{stage}-*")):
            shutil.rmtree(stale, ignore_errors=True)
        os.makedirs(folder)
        for file in files:
            copy(path, file, folder)
        node = ray.get_runtime_context().get_node_id()
        channel.send("ready", folder=staged, node=node)
        for _ in mailbox.until_silence(idle_seconds):
            time.sleep(POLL_SECONDS)
    except Exception as error:  # noqa: BLE001
        print_trace(traceback.format_exc())
        code, message = failure_in(job_id, error)
        channel.send("failed", code=code, message=message)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        mailbox.clear()


def copy(path: str, file: str, folder: str) -> None:
    """:raises KitError: if the file is missing"""
    storage = Checkpoint(path)
    target = os.path.join(folder, file)
    source = posixpath.join(storage.path, file)
    try:
        pyarrow.fs.copy_files(source, target, source_filesystem=storage.filesystem)
    except FileNotFoundError:
        raise gone(join_storage(path, file)) from None


if __name__ == "__main__":
    _, job_id, stage, idle_seconds, path, *files = sys.argv
    run(job_id, stage, float(idle_seconds), path, files)
