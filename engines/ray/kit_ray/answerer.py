"""An actor that answers from a stored checkpoint, by the Python engine's own code."""

import contextlib
import queue
import threading
from typing import Any

from kit_engine.environment import assert_fit, installed
from kit_engine.errors import failure_of
from kit_engine.inbox import Questions

from .checkpoints import open_checkpoint
from .job import Job, at

Message = dict[str, Any]


class Answerer:
    """Its methods run side by side."""

    def __init__(self, job: Job) -> None:
        self.stored = job.job["stored"]
        self.model = job.job["model"]
        self.questions = Questions({})
        self.answers: queue.Queue[Message] = queue.Queue()
        # What is downloaded from a storage with a URL stays as long as this process.
        self.stack = contextlib.ExitStack()

    def begin(self) -> dict[str, str]:
        """
        The folders of the model on this node.

        :raises KitError: for packages or a checkpoint that are not there
        """
        assert_fit(*installed())
        stored = self.stored["path"]
        folder = open_checkpoint(stored, self.stack)
        threading.Thread(target=self._answer, daemon=True).start()
        return {kind: folder if path == stored else at(path) for kind, path in self.model.items()}

    def put(self, message: Message) -> None:
        self.questions.put(message)

    def take(self) -> Message:
        """Waits until there is one."""
        return self.answers.get()

    def send(self, type: str, **fields: Any) -> None:
        """As kit_engine's channel."""
        self.answers.put({"type": type, **fields})

    def _answer(self) -> None:
        try:
            from kit_engine.answer import answer

            answer(self.questions, self)
        except BaseException as error:  # noqa: BLE001
            code, message = failure_of(error)
            self.send("failed", code=code, message=message)
