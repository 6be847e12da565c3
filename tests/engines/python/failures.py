"""Prints the code and the sentence of some errors: failures.py <engine's folder>."""

import json
import sys
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])

import torch
from kit_engine.process.errors import DEBUG_ADVICE, failure_of
from kit_engine.process.inbox import RequestQueue


def of(work: object) -> tuple[str, str]:
    try:
        work()
    except BaseException as error:  # noqa: BLE001
        return failure_of(error, DEBUG_ADVICE)
    raise AssertionError("nothing failed")


def no_gpu_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def no_library_memory() -> None:
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


def of_taken(free: int | None) -> tuple[str, str]:
    """On a GPU of 80 GiB, of which this process has 3; None does not even leave enough to ask."""

    def memory() -> tuple[int, int]:
        if free is None:
            raise torch.AcceleratorError("CUDA error: out of memory", 2)
        return free * 2**30, 80 * 2**30

    real = torch.cuda
    torch.cuda = SimpleNamespace(
        is_available=lambda: True, mem_get_info=memory, memory_reserved=lambda: 3 * 2**30
    )
    try:
        return of(no_gpu_memory)
    finally:
        torch.cuda = real


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
            "library": of(no_library_memory),
            "taken": of_taken(1),
            "alone": of_taken(76),
            "full": of_taken(None),
            "bug": of(no_message),
            "answer": [*RequestQueue({}).failure(MemoryError()).values()],
        }
    )
)
