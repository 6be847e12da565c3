"""The workers of one training; a process by itself is its only one."""

import torch
from torch import distributed


def worker_count() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def is_first() -> bool:
    return not distributed.is_initialized() or distributed.get_rank() == 0


def over_workers(loss: float, tokens: int, device: str) -> tuple[float, int]:
    """The mean of the workers' losses, and all their tokens."""
    if worker_count() == 1:
        return loss, tokens
    both = torch.tensor([loss, tokens], dtype=torch.float64, device=device)
    distributed.all_reduce(both)
    return float(both[0]) / worker_count(), int(both[1])
