"""Answers what Kit asks, one question after another, until Kit is gone."""

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

from .answerer import Answerer, Message
from .job import Job
from .log import print_trace
from .mailbox import Mailbox
from .scheduling import actor_options, is_anyone_waiting, reserve_gpu

# Pause between two looks for questions; each look is a request to the head.
POLL_SECONDS = 0.1
# Pause between two looks for others that need the GPU.
YIELD_SECONDS = 1.0


def answer(job: Job, channel: Channel) -> None:
    """
    :raises KitError: when there will be no more answers
    """
    mailbox = Mailbox(job.id)
    signal.signal(signal.SIGTERM, lambda *_: stop(mailbox))
    try:
        queue = AnswerQueue(job, channel)
        for messages in mailbox.until_silence(job.job["idleSeconds"]):
            for message in messages:
                # A heartbeat only says that Kit is there.
                if message["type"] != "heartbeat":
                    queue.put(message)
            queue.pass_on(POLL_SECONDS)
    except (RayActorError, OutOfMemoryError) as error:
        refuse(error)
    finally:
        mailbox.clear()


class AnswerQueue:
    """Questions in their order, and the actor that answers them, whichever actor that is."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self.job = job
        self.channel = channel
        self.waiting: deque[Message] = deque()
        # What the actor works on; its cancel once nobody waits for the answer.
        self.current: Message | None = None
        # What another actor begins with.
        self.load: Message | None = None
        self.group = reserve_gpu(job)
        if job.gpus and self.group is None:
            channel.note("no GPU of the cluster is free: its CPUs answer")
        self._start()

    def _start(self) -> None:
        options = {"max_concurrency": 2, "max_restarts": 0, **actor_options(self.group)}
        self.actor = ray.remote(Answerer).options(**options).remote(self.job)
        ray.get(self.actor.begin.remote())
        self.next = self.actor.take.remote()
        self.looked = time.monotonic()

    def put(self, message: Message) -> None:
        if message["type"] != "cancel":
            self.waiting.append(message)
        elif self.current is not None and self.current["id"] == message["id"]:
            self.current = message
            self.actor.put.remote(message)
        else:
            self.waiting = deque(one for one in self.waiting if one["id"] != message["id"])

    def pass_on(self, seconds: float) -> None:
        """
        Hands the next question to an actor that has none, and waits so long for what it says.

        :raises KitError: when the model cannot be answered from
        """
        if self.current is None and self.waiting:
            self.current = self.waiting.popleft()
            self.actor.put.remote(self.current)
        done, _ = ray.wait([self.next], timeout=seconds)
        if done:
            self._take(ray.get(self.next))
            self.next = self.actor.take.remote()
        if self.group is not None and time.monotonic() - self.looked > YIELD_SECONDS:
            self.looked = time.monotonic()
            if is_anyone_waiting():
                self._give_back()

    def _take(self, message: Message) -> None:
        current = self.current or {}
        is_again = current is self.load
        failure = message.get("failure", message)
        print_trace(failure.pop("trace", ""))
        if message["type"] == "failed" or (is_again and "failure" in message):
            raise KitError(failure["code"], failure["message"])
        if message["type"] == "tokens":
            # Another actor goes on behind them.
            current.setdefault("generated", []).extend(token["id"] for token in message["tokens"])
        else:
            if current["type"] == "load":
                self.load = current
            self.current = None
        if not is_again and current["type"] != "cancel":
            self.channel.send(**message)

    def _give_back(self) -> None:
        """Another actor loads the model, and goes on with what has no answer yet."""
        ray.kill(self.actor)
        remove_placement_group(self.group)
        self.group = None
        self.channel.note("another job waits for GPUs: the CPUs of the cluster answer from now on")
        self._start()
        open_ones = [one for one in (self.current, self.load) if one and one["type"] != "cancel"]
        self.waiting.extendleft(open_ones)
        self.current = None


def stop(mailbox: Mailbox) -> None:
    mailbox.clear()
    os._exit(0)


def refuse(error: RayActorError | OutOfMemoryError) -> NoReturn:
    if isinstance(error, OutOfMemoryError) or "low on memory" in str(error):
        raise KitError(
            "OUT_OF_MEMORY",
            "The node that answers ran out of memory. Use a smaller model, or nodes with more.",
        ) from error
    raise KitError(
        "WORKER_FAILED",
        "The process that answers on the cluster was lost, perhaps with its node, or because "
        "memory ran out. Load the model again.",
    ) from error
