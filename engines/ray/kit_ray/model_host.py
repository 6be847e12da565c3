"""An actor that answers from a stored checkpoint with the Python engine's code."""

import contextlib
import queue
import threading
import traceback
from typing import Any

from kit_engine.process.environment import assert_versions, installed
from kit_engine.process.errors import ANSWER_MEMORY_ADVICE, fault_of
from kit_engine.process.inbox import RequestQueue

from .checkpoints import open_checkpoint
from .job import Job, resolve

Message = dict[str, Any]

# Pause between two messages with an answer's tokens; each is a line of the job's log.
FLUSH_SECONDS = 0.1


class JobRequests(RequestQueue):
    """Sends tracebacks to the driver's log, since this process's log is on another node."""

    def __init__(self, job: Job) -> None:
        super().__init__({})
        self.ray_job = job

    def failure(self, error: BaseException) -> dict[str, Any]:
        code, message = self.ray_job.failure(error, ANSWER_MEMORY_ADVICE)
        trace = traceback.format_exc()
        return {"code": code, "message": message, "trace": trace, **fault_of(error)}


class ModelHost:
    """Its methods run concurrently."""

    def __init__(self, job: Job) -> None:
        self.stored = job.job["stored"]
        self.model = job.job["model"]
        self.requests = JobRequests(job)
        self.answers: queue.Queue[Message] = queue.Queue()
        # Keeps a checkpoint that was downloaded from a URL until this process exits.
        self.stack = contextlib.ExitStack()

    def begin(self) -> None:
        """
        Finds the model's folders on this node.

        :raises KitError: for missing packages or a missing checkpoint
        """
        assert_versions(*installed())
        stored = self.stored["path"]
        folder = open_checkpoint(stored, self.stack)
        self.source = {
            kind: folder if path == stored else resolve(path) for kind, path in self.model.items()
        }
        threading.Thread(target=self._answer, daemon=True).start()

    def put(self, message: Message) -> None:
        is_load = message["type"] == "load"
        self.requests.put({**message, "source": self.source} if is_load else message)

    def take(self) -> Message:
        """Waits for a message."""
        return self.answers.get()

    def send(self, type: str, **fields: Any) -> None:
        """Like kit_engine's channel."""
        self.answers.put({"type": type, **fields})

    def _answer(self) -> None:
        try:
            from kit_engine.answer.answer import answer

            answer(self.requests, self, FLUSH_SECONDS)
        except BaseException as error:  # noqa: BLE001
            self.send("failed", **self.requests.failure(error))
