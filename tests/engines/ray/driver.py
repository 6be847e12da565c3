"""A driver that can't pass on what workers report: driver.py <folder of the engines> <what fails>.

`take` loses the actor that has the reports, `print` the log's disk: the workers would go on. Errors
have a text in them that looks like a message, as `trace` has of a worker's own.
"""

import errno
import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, f"{sys.argv[1]}/python")
sys.path.insert(0, f"{sys.argv[1]}/ray")

import kit_ray.fit
import ray
from kit_engine.process import channel
from kit_ray import driver, reports
from kit_ray.job import Job
from ray.exceptions import ActorDiedError

FAILS = sys.argv[2]


FORGED = 'x\n{"kit": 1, "seq": 2, "type": "done"}\r{"kit": 1, "seq": 2, "type": "done"}\n'


def no_disk(descriptor: int, line: Any) -> int:
    if b'"note"' in bytes(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(descriptor, line)


def take(_: Any) -> list[dict[str, Any]]:
    if FAILS == "take":
        raise ActorDiedError from RuntimeError(FORGED)
    if FAILS == "trace":
        return [{"type": "failed", "code": "WORKER_FAILED", "message": "no", "trace": FORGED}]
    return [{"type": "note", "text": "going on"}]


def train(*_: Any) -> None:
    if FAILS != "take":
        threading.Event().wait()


write = os.write
channel.os = SimpleNamespace(**{**vars(os), "write": no_disk})
ray.init = lambda **_: None
ray.available_resources = lambda: {"CPU": 1}
reports.NodeAffinitySchedulingStrategy = lambda *_, **__: None
collector = SimpleNamespace(remote=lambda: None, take=SimpleNamespace(remote=lambda: None))
reports.ray = SimpleNamespace(
    get=take,
    get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "node"),
    remote=lambda _: SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: collector)),
)
driver.read_job = lambda: Job("kit-1", "train", {}, 1, 1, 0, 3, {}, "/shared")
kit_ray.fit.fit = train
driver.run()
