"""The program that Kit submits: starts the workers, and prints their reports as numbered lines."""

import os
import platform
import threading
import time
from importlib import metadata

from kit_engine.process.channel import Channel
from kit_engine.process.environment import say_hello

from .job import Job, read_job
from .log import fail, open_channel
from .reports import Reports

# Interval of heartbeats, which distinguish a busy driver from a dead connection.
BEAT_SECONDS = 5.0
NAMESPACE = "kit"


def run() -> None:
    """Does not return: library threads must not keep the process alive."""
    channel = open_channel()
    threading.Thread(target=beat, args=[channel], daemon=True).start()
    job = read_job()
    try:
        say_hello(channel, platform.node(), {"Ray": metadata.version("ray")})
        run_mode(job, channel)
    except BaseException as error:  # noqa: BLE001
        fail(job, channel, error)
    os._exit(0)


def beat(channel: Channel) -> None:
    while True:
        time.sleep(BEAT_SECONDS)
        channel.send("beat")


def run_mode(job: Job, channel: Channel) -> None:
    import ray

    ray.init(address="auto", namespace=NAMESPACE, log_to_driver=False)
    if job.mode == "answer":
        from .answer import answer

        answer(job, channel)
        return channel.send("done")
    note_waiting(job, channel, ray.available_resources())
    if job.mode == "check":
        from .check import check

        return channel.send("done", check=check(job, channel))
    from .fit import fit

    reports = Reports(job, channel)
    fit(job, reports)
    # The last report ends this process.
    reports.thread.join()


def note_waiting(job: Job, channel: Channel, free: dict[str, float]) -> None:
    """Notes which resources the job waits for, since Ray doesn't say."""
    workers = 1 if job.mode == "check" else job.workers
    wanted = {kind: share * workers for kind, share in job.resources().items()}
    lacking = [kind for kind, count in wanted.items() if count > free.get(kind, 0)]
    if not lacking:
        return
    request = " and ".join(
        f"{wanted[kind]:g} {kind}{'s' * (wanted[kind] != 1)}" for kind in lacking
    )
    available = " and ".join(f"{free.get(kind, 0):g}" for kind in lacking)
    channel.note(f"waiting for {request}; the cluster has {available} free now")


if __name__ == "__main__":
    run()
