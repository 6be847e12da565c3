"""Answers what Kit asks, until Kit is gone."""

import os
import signal
import time
from typing import NoReturn

from kit_engine.process.channel import Channel
from kit_engine.process.errors import KitError
from ray.exceptions import OutOfMemoryError, RayActorError

from .answer_router import AnswerRouter
from .job import Job
from .mailbox import Mailbox

# Pause between two looks for questions; each look is a request to the head.
POLL_SECONDS = 0.1


def answer(job: Job, channel: Channel) -> None:
    """
    :raises KitError: when there will be no more answers
    """
    mailbox = Mailbox(job.id)
    signal.signal(signal.SIGTERM, lambda *_: stop(mailbox))
    try:
        serve(job, channel, mailbox)
    except (RayActorError, OutOfMemoryError) as error:
        refuse(error)
    finally:
        mailbox.clear()


def serve(job: Job, channel: Channel, mailbox: Mailbox) -> None:
    idle = job.job["idleSeconds"]
    router = AnswerRouter(job, channel)
    heard = time.monotonic()
    while True:
        # Kit may have spoken while a model was loaded.
        for message in mailbox.take():
            heard = time.monotonic()
            # The other messages only say that Kit is there.
            if "id" in message:
                router.ask(message)
        if time.monotonic() - heard > idle:
            return
        router.pass_on(POLL_SECONDS)


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
