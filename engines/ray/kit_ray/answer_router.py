"""Hands questions to an actor and its answers to Kit, whichever actor that is."""

import time

import ray
from kit_engine.process.channel import Channel
from kit_engine.process.errors import KitError
from ray.util.placement_group import remove_placement_group

from .answerer import Answerer, Message
from .job import Job
from .log import print_trace
from .scheduling import actor_options, is_anyone_waiting, reserve_gpu

# Pause between two looks for others that need the GPU.
YIELD_SECONDS = 1.0


class AnswerRouter:
    """
    :raises KitError: when the model cannot be answered from
    """

    def __init__(self, job: Job, channel: Channel) -> None:
        self.job = job
        self.channel = channel
        # Messages that another actor would have to be told.
        self.told: dict[int, Message] = {}
        # Questions that Kit waits for.
        self.open: set[int] = set()
        self.group = reserve_gpu(job)
        if job.gpus and self.group is None:
            channel.note("no GPU of the cluster is free: its CPUs answer")
        self._start()

    def _start(self) -> None:
        asked = {"max_concurrency": 2, "max_restarts": 0, **actor_options(self.group)}
        self.actor = ray.remote(Answerer).options(**asked).remote(self.job)
        self.source = ray.get(self.actor.begin.remote())
        self.next = self.actor.take.remote()
        self.looked = time.monotonic()
        for message in self.told.values():
            self._put(message)

    def _put(self, message: Message) -> None:
        is_load = message["type"] == "load"
        self.actor.put.remote({**message, "source": self.source} if is_load else message)

    def ask(self, message: Message) -> None:
        number = message["id"]
        if message["type"] == "cancel":
            self.told.pop(number, None)
            self.open.discard(number)
        else:
            self.told[number] = message
            self.open.add(number)
        self._put(message)

    def pass_on(self, seconds: float) -> None:
        """Waits so long for an answer, and passes it on."""
        done, _ = ray.wait([self.next], timeout=seconds)
        if done:
            self._answer(ray.get(self.next))
            self.next = self.actor.take.remote()
        elif self.group is not None and time.monotonic() - self.looked > YIELD_SECONDS:
            self.looked = time.monotonic()
            if is_anyone_waiting():
                self._give_back()

    def _answer(self, message: Message) -> None:
        print_trace(message.get("failure", message).pop("trace", ""))
        if message["type"] == "failed":
            raise KitError(message["code"], message["message"])
        number = message["id"]
        if number not in self.open:
            return
        if message["type"] == "tokens":
            # Another actor goes on behind them.
            generated = [token["id"] for token in message["tokens"]]
            asked = self.told[number]
            self.told[number] = {**asked, "generated": [*asked.get("generated", []), *generated]}
            self.channel.send(**message)
            return
        self.open.remove(number)
        if self.told[number]["type"] != "load":
            # A model that another actor takes over is loaded there, too.
            del self.told[number]
        self.channel.send(**message)

    def _give_back(self) -> None:
        """What has not been answered is asked again, without what was told of it."""
        ray.kill(self.actor)
        remove_placement_group(self.group)
        self.group = None
        self.channel.note("another job waits for GPUs: the CPUs of the cluster answer from now on")
        self._start()
