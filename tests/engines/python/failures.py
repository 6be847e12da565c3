"""Prints the code and the sentence of some errors: failures.py <engine's folder>."""

import json
import sys

sys.path.insert(0, sys.argv[1])

import torch
from kit_engine.errors import DEBUG_ADVICE, failure_of
from kit_engine.inbox import Questions


def of(work: object) -> tuple[str, str]:
    try:
        work()
    except BaseException as error:  # noqa: BLE001
        return failure_of(error, DEBUG_ADVICE)
    raise AssertionError("nothing failed")


def no_gpu_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def no_memory() -> None:
    raise MemoryError


def no_message() -> None:
    raise ValueError


print(
    json.dumps(
        {
            "processor": of(lambda: torch.empty(2**58)),
            "python": of(no_memory),
            "gpu": of(no_gpu_memory),
            "bug": of(no_message),
            "answer": [*Questions({}).failure(MemoryError()).values()],
        }
    )
)
