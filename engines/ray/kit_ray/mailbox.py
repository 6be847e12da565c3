"""Messages from Kit to a running job.

Kit stores each message as a package, by the Jobs API's own `PUT /api/packages/gcs/<id>-<n>.zip`.
Ray has no public API with which a job reads such bytes, so this file alone relies on internals that
may change: the dashboard puts a package unchanged into the cluster's key-value store, under its
URI, without a namespace (`_store_package_in_gcs` of ray/_private/runtime_env/packaging.py), and
`ray.experimental.internal_kv` lists, reads and deletes there. Ray itself deletes only packages that
a job was submitted with.

The public alternative is a second job that passes messages to a named actor, which starts a
process each time: on a busy machine a request took 6 to 13 s instead of 0.3 s. Heartbeats would
need it, too.
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
    """A job's messages. Requires ray.init."""

    def __init__(self, job: str) -> None:
        self.prefix = f"gcs://{job}-"

    def take(self) -> list[dict[str, Any]]:
        """The messages since the last call, in the order Kit sent them."""
        return [self._take(key) for key in sorted(_internal_kv_list(self.prefix), key=number_of)]

    def _take(self, key: bytes) -> dict[str, Any]:
        message = json.loads(_internal_kv_get(key))
        _internal_kv_del(key)
        return message

    def until_silence(self, seconds: float) -> Iterator[list[dict[str, Any]]]:
        """Yields the messages of each poll, until none has come for `seconds`."""
        last_message = time.monotonic()
        while True:
            # Polls before it gives up: Kit may have sent a message since the last poll.
            messages = self.take()
            if messages:
                last_message = time.monotonic()
            elif time.monotonic() - last_message >= seconds:
                return
            yield messages

    def clear(self) -> None:
        _internal_kv_del(self.prefix, del_by_prefix=True)


def number_of(key: bytes) -> int:
    return int(key.removesuffix(b".zip").rpartition(b"-")[2])
