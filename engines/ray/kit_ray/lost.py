"""Whose error it is: a worker's own, or that of another one, which was lost."""

import re

from kit_engine.process.errors import failure_of
from ray.exceptions import RayError

# What carries numbers between workers; Gloo's own errors are plain ones.
COLLECTIVE = re.compile("gloo|nccl", re.IGNORECASE)


def is_of_another(error: BaseException, workers: int) -> bool:
    """Ray's, or a collective's, which breaks when another worker is gone."""
    if isinstance(error, RayError):
        return True
    # By its name: torch may be missing here.
    is_collective = any(kind.__name__ == "DistError" for kind in type(error).__mro__)
    is_plain = isinstance(error, RuntimeError) and COLLECTIVE.search(str(error)) is not None
    return workers > 1 and (is_collective or is_plain)


def is_doubtful(error: BaseException, workers: int) -> bool:
    """What torch says of anything, a collective that it wraps included."""
    is_unknown = failure_of(error, "")[0] == "WORKER_FAILED"
    return workers > 1 and isinstance(error, RuntimeError) and is_unknown
