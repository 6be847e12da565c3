"""Forwards the workers' reports to the driver's log."""

import asyncio
import os
import threading
from typing import Any

import ray
from kit_engine.process.channel import Channel
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .job import Job
from .log import fail, print_trace

Message = dict[str, Any]


class Collector:
    """Collects the workers' reports, even of those that die. An actor."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.arrived = asyncio.Event()
        self.groups = 0
        self.announced = ""

    async def begin(self) -> tuple[int, str]:
        """
        The number of this worker group, counted from 1, and the name of the last announced
        checkpoint, if any. Each failure starts a new group.
        """
        self.groups += 1
        return self.groups, self.announced

    async def announce(self, name: str, message: Message) -> None:
        """Reports a checkpoint, and remembers its name in the storage."""
        self.announced = name
        await self.push(message)

    async def push(self, message: Message) -> None:
        self.messages.append(message)
        self.arrived.set()

    async def take(self) -> list[Message]:
        """Waits for messages."""
        await self.arrived.wait()
        self.arrived.clear()
        messages, self.messages = self.messages, []
        return messages


class Reports:
    """Prints each step once, even if workers repeat it after a failure."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self.job = job
        self.channel = channel
        self.is_started = False
        self.last_steps: dict[str, int] = {}
        # On the driver's node: if that is lost, so is the job.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.collector = (
            ray.remote(Collector).options(num_cpus=0, scheduling_strategy=here).remote()
        )
        self.thread = threading.Thread(target=self._print, daemon=True)
        self.thread.start()

    def _print(self) -> None:
        try:
            while True:
                for message in ray.get(self.collector.take.remote()):
                    self._report(message)
        except BaseException as error:  # noqa: BLE001
            # Otherwise the workers would train on unnoticed.
            fail(self.job, self.channel, error)

    def _report(self, message: Message) -> None:
        kind = message["type"]
        if kind == "event":
            event = message["event"]
            name, step = event["event"], event["data"]["step"]
            if step <= self.last_steps.get(name, 0):
                return
            self.last_steps[name] = step
        elif kind == "started":
            if self.is_started:
                return
            self.is_started = True
        # The worker's own log is on another node.
        print_trace(message.pop("trace", ""))
        for field in ("text", "message"):
            if field in message:
                message[field] = self.job.renamed(message[field])
        self.channel.send(**message)
        if kind in ("done", "failed"):
            # Ends all workers at once; Ray Train would take seconds.
            os._exit(kind == "failed")
