"""A worker: kit_engine's training, in a group of them."""

import contextlib
import tempfile
import threading
from typing import Any

import ray
import ray.train
from kit_engine.environment import assert_fit, installed
from kit_engine.errors import KitError, failure_of

from .checkpoints import fingerprints, open_checkpoint, start_of
from .job import Job


def train_worker(given: dict[str, Any]) -> None:
    """An error that a person must mend is told, not thrown: Ray would start all workers again."""
    job, hub = given["job"], given["hub"]
    try:
        train_here(job, hub)
    except (KitError, MemoryError, ImportError) as error:
        code, message = failure_of(error)
        ray.get(hub.push.remote({"type": "failed", "code": code, "message": message}))


def train_here(job: Job, hub: Any) -> None:
    # The driver has asked for its own node.
    assert_fit(*installed())
    from kit_engine.train import read_state, train

    is_first = ray.train.get_context().get_world_rank() == 0
    attempt = ray.get(hub.begin.remote()) if is_first else 0
    channel = WorkerChannel(job, hub if is_first else None, attempt)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        here = job.here(directory)
        start = start_of(stack)
        if start or here["resumeFrom"]:
            here["resumeFrom"] = start or open_checkpoint(here["resumeFrom"], stack)
        if attempt > 1:
            step = read_state(start)["step"] + 1 if start else 1
            channel.note(f"warning: a worker was lost; the training goes on from step {step}")
        train(here, channel, threading.Event())
        channel.send("done")


class WorkerChannel:
    """kit_engine's way to Kit; only the first worker speaks."""

    def __init__(self, job: Job, hub: Any, attempt: int) -> None:
        self.job = job
        self.hub = hub
        self.attempt = attempt

    def send(self, type: str, **fields: Any) -> None:
        if self.hub is not None:
            ray.get(self.hub.push.remote({"type": type, **fields}))

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """Once it is in the storage, all workers go on."""
        name = f"step-{data['step']}"
        if self.attempt > 1:
            # What an earlier group has written stays.
            name = f"{name}-{self.attempt}"
        if self.hub is None:
            return ray.train.report({}, checkpoint_dir_name=name)
        path = f"{directory}/{data['path']}"
        checkpoint = ray.train.Checkpoint.from_directory(path)
        stored = {"path": f"{self.job.results()}/{name}", "files": fingerprints(path)}
        ray.train.report({"step": data["step"]}, checkpoint, checkpoint_dir_name=name)
        self.send("event", event={"event": "checkpoint.saved", "data": data}, stored=stored)
