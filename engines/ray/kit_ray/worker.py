"""A worker: kit_engine's training, in a group of them."""

import contextlib
import re
import tempfile
import threading
import time
import traceback
from typing import Any

import ray
import ray.train
from kit_engine.process.environment import assert_fit, installed
from kit_engine.process.errors import KitError, failure_of
from ray.exceptions import RayError
from ray.train.collective import broadcast_from_rank_zero

from .checkpoints import fingerprints, newest, open_checkpoint, reported, store
from .job import Job, under

# Ray ends the workers that are left within it.
DOUBT_SECONDS = 30.0
# What carries numbers between workers; Gloo's own errors are plain ones.
COLLECTIVE = re.compile("gloo|nccl", re.IGNORECASE)


def train_worker(given: dict[str, Any]) -> None:
    """Reports its own errors; raising makes Ray restart every worker."""
    job, collector = given["job"], given["collector"]
    try:
        train_here(job, collector)
    except Exception as error:
        if is_of_another(error, job.workers):
            raise
        if is_doubtful(error, job.workers):
            time.sleep(DOUBT_SECONDS)
        code, message = job.failure(error)
        failed = {"type": "failed", "code": code, "message": message}
        ray.get(collector.push.remote({**failed, "trace": traceback.format_exc()}))


def is_of_another(error: BaseException, workers: int) -> bool:
    """Ray's, or a collective's, which breaks when another worker is gone."""
    if isinstance(error, RayError):
        return True
    # By its name: torch may be missing here.
    is_collective = any(kind.__name__ == "DistError" for kind in type(error).__mro__)
    is_plain = isinstance(error, RuntimeError) and COLLECTIVE.search(str(error)) is not None
    return workers > 1 and (is_collective or is_plain)


def is_doubtful(error: BaseException, workers: int) -> bool:
    """What torch says of anything, a collective that it wraps included."""
    is_unknown = failure_of(error, "")[0] == "WORKER_FAILED"
    return workers > 1 and isinstance(error, RuntimeError) and is_unknown


def train_here(job: Job, collector: Any) -> None:
    # The driver has checked its own node.
    assert_fit(*installed())
    from kit_engine.train.train import train

    is_first = ray.train.get_context().get_world_rank() == 0
    attempt, announced = ray.get(collector.begin.remote()) if is_first else (0, "")
    # All workers resume from the same checkpoint.
    attempt, name = broadcast_from_rank_zero((attempt, newest(announced, reported())))
    channel = WorkerChannel(job, collector if is_first else None, attempt)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        here = job.here(directory)
        if name:
            here["resumeFrom"] = open_checkpoint(under(job.results(), name), stack)
        elif here["resumeFrom"]:
            here["resumeFrom"] = open_checkpoint(here["resumeFrom"], stack, "RESUME_INVALID")
        try:
            if attempt > 1:
                channel.lost(name, here["resumeFrom"] if name else None)
            train(here, channel, threading.Event())
        except KitError as error:
            if not name or error.code != "RESUME_INVALID":
                raise
            # Kit would take another job's checkpoint, older than this job's own.
            raise KitError("CHECKPOINT_INVALID", str(error)) from error
        channel.send("done")


class WorkerChannel:
    """kit_engine's way to Kit; only the first worker speaks."""

    def __init__(self, job: Job, collector: Any, attempt: int) -> None:
        self.job = job
        self.collector = collector
        self.attempt = attempt

    def send(self, type: str, **fields: Any) -> None:
        if self.collector is not None:
            ray.get(self.collector.push.remote({"type": type, **fields}))

    def event(self, event: str, data: dict[str, Any]) -> None:
        self.send("event", event={"event": event, "data": data})

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def lost(self, name: str, start: str | None) -> None:
        """Says where a group goes on after another one."""
        from kit_engine.train.directory import checkpoint_path
        from kit_engine.train.train import read_state

        step = 0
        if start:
            # Its worker may have been lost before its report, which is then dropped.
            step = read_state(start)["step"]
            kind = "adapter" if self.job.job["config"].get("lora") else "model"
            data = {"step": step, "kind": kind, "path": checkpoint_path(step)}
            self.announce(name, self.announcement(name, start, data))
        self.note(f"warning: a worker was lost; the training goes on from step {step + 1}")

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """Once it is in the storage, all workers go on."""
        name = f"step-{data['step']}"
        if self.attempt > 1:
            # What an earlier group has written stays.
            name = f"{name}-{self.attempt}"
        if self.collector is None:
            return ray.train.report({}, checkpoint_dir_name=name)
        path = f"{directory}/{data['path']}"
        checkpoint = ray.train.Checkpoint.from_directory(path)
        message = self.announcement(name, path, data)
        ray.train.report(
            {"step": data["step"]},
            checkpoint,
            checkpoint_dir_name=name,
            checkpoint_upload_fn=lambda checkpoint, name: store(checkpoint, name, self.note),
        )
        self.announce(name, message)

    def announce(self, name: str, message: dict[str, Any]) -> None:
        if self.collector is not None:
            ray.get(self.collector.announce.remote(name, message))

    def announcement(self, name: str, folder: str, data: dict[str, Any]) -> dict[str, Any]:
        """What says that a checkpoint is in the storage, under a name."""
        stored = {"path": under(self.job.results(), name), "files": fingerprints(folder)}
        event = {"event": "checkpoint.saved", "data": data}
        return {"type": "event", "event": event, "stored": stored}
