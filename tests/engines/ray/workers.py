"""Prints what workers throw and tell: workers.py <folder of the engines> <scratch folder>."""

import asyncio
import copy
import importlib
import json
import os
import pkgutil
import sys
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, f"{sys.argv[1]}/python")
sys.path.insert(0, f"{sys.argv[1]}/ray")

import kit_engine
import kit_ray
import pyarrow.fs
import ray.train
import torch
from fsspec.implementations.local import LocalFileSystem
from groups import lose, of_two, read
from kit_engine.process.errors import KitError
from kit_ray import answer, checkpoints, mailbox, worker
from kit_ray.fit import lost_too_often, unwritable
from kit_ray.job import Job, failure_in, join_storage
from kit_ray.model_host import JobRequests
from kit_ray.reports import Collector
from ray.exceptions import RayActorError
from ray.train.v2._internal.execution.storage import StorageContext
from torch import distributed

# A name that a module imports and that is not there would be seen only where the module runs.
for package in [kit_engine, kit_ray]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)

# Of Ray 2.58, with fewer lines.
UNWRITABLE = """The actor died because of an error raised, \x1b[36mray::Tra()\x1b[39m
  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status
FileNotFoundError: [Errno 2] Cannot create directory '/proc/nope'. Detail: [errno 2]"""


def job(workers: int, **more: Any) -> Job:
    return Job("kit-1", "train", {"config": {}, **more}, workers, 1, 0, 3, {}, "/shared")


def end_of(error: Exception, workers: int) -> Any:
    """What becomes of a worker's error: told, or thrown for Ray to start all again."""
    told: list[dict[str, Any]] = []
    waited: list[float] = []

    def fail(*_: Any) -> None:
        raise error

    worker.train_here = fail
    worker.time = SimpleNamespace(sleep=waited.append)
    worker.ray = SimpleNamespace(get=lambda done: done)
    collector = SimpleNamespace(push=SimpleNamespace(remote=told.append))
    try:
        worker.train_worker({"job": job(workers), "collector": collector})
    except Exception as thrown:  # noqa: BLE001
        return "thrown" if thrown is error else repr(thrown)
    [message] = told
    assert type(error).__name__ in message.pop("trace")
    return [len(waited), message["code"], message["message"]]


def told_after_loss(folder: str) -> list[Any]:
    """What the first worker says when it goes on from a checkpoint; what a next group learns."""
    os.mkdir(folder)
    own = {"stateful_callbacks": {"Kit": {"attributes": {"losses": []}}}}
    with open(f"{folder}/trainer_state.json", "w") as file:
        json.dump({"global_step": 2, **own}, file)
    collector = Collector()
    calls = {
        name: SimpleNamespace(remote=getattr(collector, name)) for name in ("announce", "push")
    }
    worker.ray = SimpleNamespace(get=asyncio.run)
    channel = worker.WorkerChannel(job(2), SimpleNamespace(**calls), 2)
    channel.report_loss("step-2", folder)
    channel.report_loss("", None)
    return [*asyncio.run(collector.take()), asyncio.run(collector.begin())]


class Failing(LocalFileSystem):
    """A storage that opens no file for so many times."""

    cachable = False

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def open(self, *args: Any, **more: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise OSError(5, "Input/output error")
        return super().open(*args, **more)


def stored(folder: str, times: int) -> list[Any]:
    """What becomes of a checkpoint whose storage fails so often, and what is said meanwhile."""
    os.mkdir(folder)
    os.mkdir(f"{folder}/here")
    with open(f"{folder}/here/config.json", "w") as file:
        file.write("{}")
    storage = StorageContext(f"{folder}/there", "kit-1", pyarrow.fs.LocalFileSystem())
    storage.storage_filesystem = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(Failing(times)))
    checkpoints.ray = SimpleNamespace(
        train=SimpleNamespace(get_context=lambda: SimpleNamespace(get_storage=lambda: storage))
    )
    said: list[Any] = []
    checkpoints.time = SimpleNamespace(sleep=said.append)
    checkpoint = ray.train.Checkpoint.from_directory(f"{folder}/here")
    try:
        done = checkpoints.store(checkpoint, "step-2", said.append)
        said.append(os.listdir(done.path))
    except KitError as error:
        said += [error.code, str(error)]
    return [one.replace(folder, "") if isinstance(one, str) else one for one in said]


def kept(*beats: int) -> float:
    """How long a Kit is waited for, with 5 s of patience, by the times of its heartbeats."""
    passed = [0.0]
    mailbox.time = SimpleNamespace(monotonic=lambda: passed[0])
    own = mailbox.Mailbox("kit-1")
    own.take = lambda: [beat for beat in beats if beat == passed[0]]
    for _ in own.until_silence(5):
        passed[0] += 1
    return passed[0]


def asked() -> dict[str, str]:
    """What is told of a question that nobody expected to fail."""
    try:
        raise ValueError("odd")
    except ValueError as error:
        failure = JobRequests(job(1)).failure(error)
    assert failure.pop("trace").endswith("ValueError: odd\n")
    return failure


def asked_again() -> list[Any]:
    """What two actors are asked, the second once others need the GPU, and what Kit is told."""
    asked: list[list[Any]] = []
    told: list[Any] = []
    said: list[Any] = []

    def start(queue: answer.RequestDispatcher) -> None:
        asked.append([])
        put = SimpleNamespace(remote=lambda message: asked[-1].append(copy.deepcopy(message)))
        queue.actor = SimpleNamespace(put=put, take=SimpleNamespace(remote=lambda: None))
        queue.next_message = None
        queue.checked_at = float("inf")

    def say(type: str, number: int, **more: Any) -> None:
        said.append({"type": type, "id": number, **more})
        queue.advance(0)

    answer.RequestDispatcher._start = start
    answer.reserve_gpu = answer.remove_placement_group = lambda _: None
    answer.ray = SimpleNamespace(
        wait=lambda nexts, timeout: (nexts if said else [], []),
        get=lambda _: said.pop(),
        kill=lambda _: None,
    )
    channel = SimpleNamespace(send=lambda **message: told.append(message), note=lambda _: None)
    queue = answer.RequestDispatcher(job(1), channel)
    for number in (1, 2, 3, 4):
        queue.put({"type": "infer" if number > 1 else "load", "id": number})
    queue.put({"type": "cancel", "id": 3})
    say("answer", 1)
    say("tokens", 2, tokens=[{"id": 8}, {"id": 9}])
    queue._release_gpu()
    say("answer", 1)
    say("tokens", 2, tokens=[{"id": 7}])
    say("answer", 2)
    say("tokens", 4, tokens=[])
    queue.put({"type": "cancel", "id": 4})
    queue._release_gpu()
    say("answer", 1)
    queue.advance(0)
    return [asked, [(message["type"], message["id"]) for message in told]]


shapes = RuntimeError("\x1b[31mshapes differ\x1b[0m.")
print(
    json.dumps(
        {
            "gone": end_of(FileNotFoundError(2, "No such file", "/shared/rows.jsonl"), 2),
            "gpu": end_of(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), 2),
            "value": end_of(ValueError("odd"), 2),
            "shapes": end_of(shapes, 2),
            "alone": end_of(shapes, 1),
            "gloo": end_of(RuntimeError(of_two(lose, f"{sys.argv[2]}/store")), 2),
            "nccl": end_of(distributed.DistBackendError("unhandled system error"), 2),
            "ray": end_of(RayActorError(), 2),
            "newest": [
                checkpoints.newest("", ""),
                checkpoints.newest("step-50", ""),
                checkpoints.newest("step-100-2", "step-50-3", "step-100"),
            ],
            "lost": told_after_loss(f"{sys.argv[2]}/checkpoint"),
            "lacking": [
                end_of(ImportError("No module named 'adlfs'"), 2),
                end_of(AttributeError("module 'ray.train' has no attribute 'report'"), 2),
                failure_in("kit-1", NotImplementedError("no Azure in this pyarrow")),
            ],
            "asked": asked(),
            "memory": JobRequests(job(1)).failure(MemoryError())["message"],
            "again": asked_again(),
            "kept": [kept(), kept(3, 7, 11), kept(3, 9)],
            "stored": stored(f"{sys.argv[2]}/twice", 2),
            "unstored": stored(f"{sys.argv[2]}/always", 99),
            "often": str(lost_too_often(job(2))),
            "rows": of_two(read, sys.argv[2]),
            "unwritable": str(unwritable(job(2), UNWRITABLE)),
            "under": [
                join_storage("/shared/", "kit-1?"),
                join_storage("s3://bucket/runs/?scheme=http", "kit-1"),
            ],
        }
    )
)
