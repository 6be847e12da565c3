"""Answers Kit's requests, one after another, until Kit is gone."""

import os
import signal
import time
from collections import deque
from typing import NoReturn

import ray
from kit_engine.process.channel import Channel
from kit_engine.process.errors import KitError
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.util.placement_group import remove_placement_group

from .job import Job
from .log import print_trace
from .mailbox import Mailbox
from .model_host import Message, ModelHost
from .scheduling import actor_options, is_anyone_waiting, reserve_gpu

# Pause between two polls for messages; each poll is a request to the head.
POLL_SECONDS = 0.1
# Pause between two checks whether others need the GPU.
YIELD_SECONDS = 1.0


def answer(job: Job, channel: Channel) -> None:
    """:raises KitError: if the model can't be loaded, or its actor was lost"""
    mailbox = Mailbox(job.id)
    signal.signal(signal.SIGTERM, lambda *_: stop(mailbox))
    try:
        dispatcher = RequestDispatcher(job, channel)
        for messages in mailbox.until_silence(job.job["idleSeconds"]):
            for message in messages:
                # A heartbeat only shows that Kit is there.
                if message["type"] != "heartbeat":
                    dispatcher.put(message)
            dispatcher.advance(POLL_SECONDS)
    except (RayActorError, OutOfMemoryError) as error:
        raise_lost(error)
    finally:
        mailbox.clear()


class RequestDispatcher:
    """Sends requests, in order, to the actor that answers them. The actor may be replaced."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self.job = job
        self.channel = channel
        self.waiting: deque[Message] = deque()
        # The request that the actor handles, or its cancellation until the actor has stopped.
        self.current: Message | None = None
        # The load request, which a new actor needs first.
        self.load: Message | None = None
        self.group = reserve_gpu(job)
        if job.gpus and self.group is None:
            channel.note("no GPU of the cluster is free: inference runs on its CPUs")
        self._start()

    def _start(self) -> None:
        options = {"max_concurrency": 2, "max_restarts": 0, **actor_options(self.group)}
        self.actor = ray.remote(ModelHost).options(**options).remote(self.job)
        ray.get(self.actor.begin.remote())
        self.next_message = self.actor.take.remote()
        self.checked_at = time.monotonic()

    def put(self, message: Message) -> None:
        if message["type"] != "cancel":
            self.waiting.append(message)
        elif self.current is not None and self.current["id"] == message["id"]:
            self.current = message
            self.actor.put.remote(message)
        else:
            self.waiting = deque(other for other in self.waiting if other["id"] != message["id"])

    def advance(self, seconds: float) -> None:
        """
        Sends the next request to an idle actor, and waits up to `seconds` for its messages.

        :raises KitError: if the model can't be loaded, or the actor failed
        """
        if self.current is None and self.waiting:
            self.current = self.waiting.popleft()
            self.actor.put.remote(self.current)
        done, _ = ray.wait([self.next_message], timeout=seconds)
        if done:
            self._forward(ray.get(self.next_message))
            self.next_message = self.actor.take.remote()
        if self.group is not None and time.monotonic() - self.checked_at > YIELD_SECONDS:
            self.checked_at = time.monotonic()
            if is_anyone_waiting():
                self._release_gpu()

    def _forward(self, message: Message) -> None:
        current = self.current or {}
        is_reload = current is self.load
        failure = message.get("failure", message)
        print_trace(failure.pop("trace", ""))
        if message["type"] == "failed" or (is_reload and "failure" in message):
            raise KitError(failure["code"], failure["message"])
        if message["type"] == "tokens":
            # A new actor continues after these.
            current.setdefault("generated", []).extend(token["id"] for token in message["tokens"])
        else:
            if current["type"] == "load":
                self.load = current
            self.current = None
        if not is_reload and current["type"] != "cancel":
            self.channel.send(**message)

    def _release_gpu(self) -> None:
        """Starts a new actor without a GPU, which loads the model and continues the open
        requests."""
        ray.kill(self.actor)
        remove_placement_group(self.group)
        self.group = None
        self.channel.note("another job waits for GPUs: inference continues on the cluster's CPUs")
        self._start()
        requests = (self.current, self.load)
        self.waiting.extendleft(each for each in requests if each and each["type"] != "cancel")
        self.current = None


def stop(mailbox: Mailbox) -> None:
    mailbox.clear()
    os._exit(0)


def raise_lost(error: RayActorError | OutOfMemoryError) -> NoReturn:
    if isinstance(error, OutOfMemoryError) or "low on memory" in str(error):
        raise KitError(
            "OUT_OF_MEMORY",
            "The node that runs inference ran out of memory. Use a smaller model or a larger node.",
        ) from error
    raise KitError(
        "WORKER_FAILED",
        "The inference process on the cluster was lost, perhaps with its node, or because "
        "memory ran out. Load the model again.",
    ) from error
