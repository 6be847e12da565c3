"""The workers of a training run. Without a cluster, this process is the only one."""

import torch
from torch import distributed

from .errors import KitError
from .means import Mean


def world_size() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def is_main_process() -> bool:
    return not distributed.is_initialized() or distributed.get_rank() == 0


def all_reduce_loss(loss: float, tokens: int, device: str) -> tuple[float, int]:
    """The mean of the workers' losses, and the sum of their tokens."""
    if world_size() == 1:
        return loss, tokens
    sums = torch.tensor([loss, tokens], dtype=torch.float64, device=device)
    distributed.all_reduce(sums)
    return float(sums[0]) / world_size(), int(sums[1])


def all_reduce_means(means: dict[str, Mean], device: str) -> dict[str, Mean]:
    """The means over all workers, each of which has the same names."""
    if world_size() == 1 or not means:
        return means
    pairs = [[mean.sum, mean.count] for mean in means.values()]
    sums = torch.tensor(pairs, dtype=torch.float64, device=device)
    distributed.all_reduce(sums)
    return {name: Mean(*pair) for name, pair in zip(means, sums.tolist(), strict=True)}


def assert_same(*fingerprints: str) -> None:
    """
    :raises KitError: on every worker, if one read different rows, as from a disk that isn't shared
    """
    if world_size() == 1:
        return
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    # 60 bits fit torch's signed 64-bit integers.
    numbers = [int(fingerprint[:15], 16) for fingerprint in fingerprints]
    min_and_max = torch.tensor([*numbers, *(-number for number in numbers)], device=device)
    distributed.all_reduce(min_and_max, distributed.ReduceOp.MIN)
    minimum, maximum = min_and_max.chunk(2)
    if not torch.equal(minimum, -maximum):
        raise KitError(
            "DATASET_INVALID",
            "The workers read different rows from the same dataset. "
            "Put the same file on each node, or use a URL that all of them share.",
        )
