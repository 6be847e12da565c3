"""An actor that answers from a stored checkpoint, by the Python engine's own code."""

import contextlib
import queue
import threading
import traceback
from typing import Any

from kit_engine.process.environment import assert_fit, installed
from kit_engine.process.errors import ANSWER_MEMORY_ADVICE, fault_of
from kit_engine.process.inbox import Questions

from .checkpoints import open_checkpoint
from .job import Job, at

Message = dict[str, Any]

# Between two messages with an answer's tokens: each is a line of the job's log.
FLUSH_SECONDS = 0.1


class JobQuestions(Questions):
    """Sends tracebacks to the driver's log, since this process's log is on another node."""

    def __init__(self, job: Job) -> None:
        super().__init__({})
        self.asking = job

    def failure(self, error: BaseException) -> dict[str, Any]:
        code, message = self.asking.failure(error, ANSWER_MEMORY_ADVICE)
        trace = traceback.format_exc()
        return {"code": code, "message": message, "trace": trace, **fault_of(error)}


class Answerer:
    """Its methods run side by side."""

    def __init__(self, job: Job) -> None:
        self.stored = job.job["stored"]
        self.model = job.job["model"]
        self.questions = JobQuestions(job)
        self.answers: queue.Queue[Message] = queue.Queue()
        # What is downloaded from a storage with a URL stays as long as this process.
        self.stack = contextlib.ExitStack()

    def begin(self) -> None:
        """
        Finds the folders of the model on this node.

        :raises KitError: for packages or a checkpoint that are not there
        """
        assert_fit(*installed())
        stored = self.stored["path"]
        folder = open_checkpoint(stored, self.stack)
        self.source = {
            kind: folder if path == stored else at(path) for kind, path in self.model.items()
        }
        threading.Thread(target=self._answer, daemon=True).start()

    def put(self, message: Message) -> None:
        is_load = message["type"] == "load"
        self.questions.put({**message, "source": self.source} if is_load else message)

    def take(self) -> Message:
        """Waits until there is one."""
        return self.answers.get()

    def send(self, type: str, **fields: Any) -> None:
        """As kit_engine's channel."""
        self.answers.put({"type": type, **fields})

    def _answer(self) -> None:
        try:
            from kit_engine.answer.answer import answer

            answer(self.questions, self, FLUSH_SECONDS)
        except BaseException as error:  # noqa: BLE001
            self.send("failed", **self.questions.failure(error))
