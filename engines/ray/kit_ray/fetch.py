"""Lays files of a checkpoint where the dashboard can read them, until Kit stops this job."""

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
from kit_engine.channel import take_stdout
from ray.train import Checkpoint

from .checkpoints import gone
from .driver import beat
from .job import failure_in, under

# A killed Kit cannot stop this job.
LEAST_SECONDS = 3600.0
LEAST_BYTES_PER_SECOND = 1e6


def run(path: str, name: str, files: list[str]) -> None:
    channel = take_stdout("\n")
    threading.Thread(target=beat, args=[channel], daemon=True).start()
    ray.init(address="auto", log_to_driver=False)
    logs = ray._private.worker._global_node.get_logs_dir_path()
    folder = os.path.join(logs, "kit", name)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        os.makedirs(folder)
        size = sum(copy(path, file, folder) for file in files)
        channel.send("ready", folder=f"kit/{name}", node=ray.get_runtime_context().get_node_id())
        time.sleep(LEAST_SECONDS + size / LEAST_BYTES_PER_SECOND)
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        code, message = failure_in(name, error)
        channel.send("failed", code=code, message=message)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copy(path: str, file: str, folder: str) -> int:
    """Returns its size in bytes.

    :raises KitError: when it is not there
    """
    storage = Checkpoint(path)
    to = os.path.join(folder, file)
    source = posixpath.join(storage.path, file)
    try:
        pyarrow.fs.copy_files(source, to, source_filesystem=storage.filesystem)
    except FileNotFoundError:
        raise gone(under(path, file)) from None
    return os.path.getsize(to)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
