"""What Kit sends to a job that runs.

Kit stores each message as a package, by the Jobs API's own `PUT /api/packages/gcs/<id>-<n>.zip`.
Ray has nothing public by which a job reads such bytes. So this file, and no other, relies on parts
of it that may change: the dashboard puts a package into the cluster's key-value store as it came,
under its URI, in no namespace (`_store_package_in_gcs` of ray/_private/runtime_env/packaging.py),
and `ray.experimental.internal_kv` lists, reads and deletes there. Ray itself deletes only packages
that a job was submitted with.

The public way is a second job, which hands messages to a named actor: each starts a process. On a
busy machine that took 6 to 13 s a question, and this 0.3 s. A heartbeat would be such a job, too.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

from ray.experimental.internal_kv import (
    _internal_kv_del,
    _internal_kv_get,
    _internal_kv_list,
)


class Mailbox:
    """Of one job; ray.init comes first."""

    def __init__(self, job: str) -> None:
        self.prefix = f"gcs://{job}-"

    def take(self) -> list[dict[str, Any]]:
        """The messages that have come since, in the order of their numbers."""
        return [self._take(key) for key in sorted(_internal_kv_list(self.prefix), key=number_of)]

    def _take(self, key: bytes) -> dict[str, Any]:
        message = json.loads(_internal_kv_get(key))
        _internal_kv_del(key)
        return message

    def until_silence(self, seconds: float) -> Iterator[list[dict[str, Any]]]:
        """What has come at each look, until nothing has come for so long."""
        heard = time.monotonic()
        while True:
            # Kit may have spoken since the last look, however long ago that was.
            messages = self.take()
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard >= seconds:
                return
            yield messages

    def clear(self) -> None:
        _internal_kv_del(self.prefix, del_by_prefix=True)


def number_of(key: bytes) -> int:
    return int(key.removesuffix(b".zip").rpartition(b"-")[2])
