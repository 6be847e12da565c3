"""Checks a training run on a node, without training."""

import tempfile
from typing import Any

import ray
from kit_engine.process.channel import Channel

from .job import Job


def check(job: Job, channel: Channel) -> dict[str, Any]:
    """:raises KitError: as the training run would"""
    remote = ray.remote(check_on_node).options(num_cpus=job.cpus, num_gpus=job.gpus, max_retries=0)
    report, notes = ray.get(remote.remote(job))
    for text in notes:
        channel.note(job.renamed(text))
    return with_original_names(report, job)


def check_on_node(job: Job) -> tuple[dict[str, Any], list[str]]:
    from kit_engine.train.check import check as check_job

    class Notes:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def note(self, text: str) -> None:
            self.texts.append(text)

    notes = Notes()
    with tempfile.TemporaryDirectory() as directory:
        return check_job(job.on_this_node(directory), notes), notes.texts


def with_original_names(report: dict[str, Any], job: Job) -> dict[str, Any]:
    """Replaces the package's paths by the names on the machine that submitted the job."""
    dataset = dict(report["dataset"])
    for kind in ("duplicates", "leaked"):
        if "first" in dataset.get(kind, {}):
            first = [job.renamed(location) for location in dataset[kind]["first"]]
            dataset[kind] = {**dataset[kind], "first": first}
    if "first" in dataset.get("json", {}):
        dataset["json"] = {**dataset["json"], "first": job.renamed(dataset["json"]["first"])}
    hardest = [{**row, "where": job.renamed(row["where"])} for row in report.get("hardest", [])]
    return {**report, "dataset": dataset, **({"hardest": hardest} if "hardest" in report else {})}
