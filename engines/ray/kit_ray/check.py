"""Reads on a node what a training would, and trains nothing."""

import tempfile
from typing import Any

import ray
from kit_engine.channel import Channel

from .job import Job


def check(job: Job, channel: Channel) -> dict[str, Any]:
    """
    :raises KitError: with which the training would be refused
    """
    remote = ray.remote(check_here).options(num_cpus=job.cpus, num_gpus=job.gpus, max_retries=0)
    found, notes = ray.get(remote.remote(job))
    for text in notes:
        channel.note(job.renamed(text))
    return found


def check_here(job: Job) -> tuple[dict[str, Any], list[str]]:
    from kit_engine.check import check as check_job

    class Notes:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def note(self, text: str) -> None:
            self.texts.append(text)

    notes = Notes()
    with tempfile.TemporaryDirectory() as directory:
        return check_job(job.here(directory), notes), notes.texts
