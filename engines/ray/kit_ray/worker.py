"""A worker of a group that runs kit_engine's training."""

import contextlib
import re
import tempfile
import threading
import time
import traceback
from typing import Any

import ray
import ray.train
from kit_engine.process.environment import assert_versions, installed
from kit_engine.process.errors import KitError, failure_of
from ray.exceptions import RayError
from ray.train.collective import broadcast_from_rank_zero

from .checkpoints import fingerprints, latest_reported, newest, open_checkpoint, store
from .job import Job, join_storage

# Ray ends the remaining workers of a failed group within this time.
GROUP_FAILURE_SECONDS = 30.0
# Libraries of collectives; Gloo raises plain errors.
COLLECTIVE = re.compile("gloo|nccl", re.IGNORECASE)


def train_worker(config: dict[str, Any]) -> None:
    """Reports its own errors. Raising makes Ray restart all workers."""
    job, collector = config["job"], config["collector"]
    try:
        train_here(job, collector)
    except Exception as error:
        if is_caused_by_another(error, job.workers):
            raise
        if may_be_caused_by_another(error, job.workers):
            time.sleep(GROUP_FAILURE_SECONDS)
        code, message = job.failure(error)
        failure = {"type": "failed", "code": code, "message": message}
        ray.get(collector.push.remote({**failure, "trace": traceback.format_exc()}))


def is_caused_by_another(error: BaseException, workers: int) -> bool:
    """Whether it is an error of Ray or of a collective, as when another worker is gone."""
    if isinstance(error, RayError):
        return True
    # By name: torch may be missing here.
    is_collective = any(kind.__name__ == "DistError" for kind in type(error).__mro__)
    is_plain = isinstance(error, RuntimeError) and COLLECTIVE.search(str(error)) is not None
    return workers > 1 and (is_collective or is_plain)


def may_be_caused_by_another(error: BaseException, workers: int) -> bool:
    """Whether it is an unknown error of torch, which may wrap one of a collective."""
    is_unknown = failure_of(error, "")[0] == "WORKER_FAILED"
    return workers > 1 and isinstance(error, RuntimeError) and is_unknown


def train_here(job: Job, collector: Any) -> None:
    # The driver has checked only its own node.
    assert_versions(*installed())
    from kit_engine.train.train import train

    is_first = ray.train.get_context().get_world_rank() == 0
    attempt, announced = ray.get(collector.begin.remote()) if is_first else (0, "")
    # All workers resume from the same checkpoint.
    attempt, name = broadcast_from_rank_zero((attempt, newest(announced, latest_reported())))
    channel = WorkerChannel(job, collector if is_first else None, attempt)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        node_job = job.on_this_node(directory)
        if name:
            node_job["resumeFrom"] = open_checkpoint(join_storage(job.results(), name), stack)
        elif node_job["resumeFrom"]:
            node_job["resumeFrom"] = open_checkpoint(
                node_job["resumeFrom"], stack, "RESUME_INVALID"
            )
        try:
            if attempt > 1:
                channel.report_loss(name, node_job["resumeFrom"] if name else None)
            train(node_job, channel, threading.Event())
        except KitError as error:
            if not name or error.code != "RESUME_INVALID":
                raise
            # Kit would resume from another job's checkpoint, older than this job's own.
            raise KitError("CHECKPOINT_INVALID", str(error)) from error
        channel.send("done")


class WorkerChannel:
    """kit_engine's channel to Kit; only the first worker writes to it."""

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

    def report_loss(self, name: str, start: str | None) -> None:
        """Reports that a new group replaces one that lost a worker, and where it continues."""
        from kit_engine.train.directory import checkpoint_path
        from kit_engine.train.train import read_state

        step = 0
        if start:
            # The lost worker may not have reported this checkpoint; a second report is dropped.
            step = read_state(start)["step"]
            kind = "adapter" if self.job.job["config"].get("lora") else "model"
            data = {"step": step, "kind": kind, "path": checkpoint_path(step)}
            self.announce(name, self.announcement(name, start, data))
        self.note(f"warning: a worker was lost; training continues from step {step + 1}")

    def saved(self, directory: str, data: dict[str, Any]) -> None:
        """All workers wait until it is in the storage."""
        name = f"step-{data['step']}"
        if self.attempt > 1:
            # An earlier group's files stay.
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
        """The message that a checkpoint is in the storage under a name."""
        stored = {"path": join_storage(self.job.results(), name), "files": fingerprints(folder)}
        event = {"event": "checkpoint.saved", "data": data}
        return {"type": "event", "event": event, "stored": stored}
