"""Lays a checkpoint where the dashboard can read it, until Kit stops this job."""

import os
import shutil
import signal
import sys
import time

import ray
from kit_engine.channel import take_stdout
from ray.train import Checkpoint

# Kit has long given up.
MOST_SECONDS = 3600.0


def run(path: str, name: str) -> None:
    channel = take_stdout("\n")
    ray.init(address="auto", log_to_driver=False)
    logs = ray._private.worker._global_node.get_logs_dir_path()
    folder = os.path.join(logs, "kit", name)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        Checkpoint(path).to_directory(folder)
        channel.send("ready", folder=f"kit/{name}", node=ray.get_runtime_context().get_node_id())
        time.sleep(MOST_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
