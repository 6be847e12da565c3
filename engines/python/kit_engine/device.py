"""Where to compute, and in which numbers."""

from dataclasses import dataclass

import torch


@dataclass
class Device:
    # `cuda`, `mps` or `cpu`.
    name: str
    # Whether matrices are multiplied in bfloat16; the weights that are trained stay in float32.
    bf16: bool

    def trained_dtype(self) -> torch.dtype:
        return torch.float32

    def frozen_dtype(self) -> torch.dtype:
        """The type of weights that are only read."""
        return torch.bfloat16 if self.bf16 else torch.float32


def find_device(bf16: bool | None) -> Device:
    """`bf16` is as asked for; None is the device's default."""
    if torch.cuda.is_available():
        return Device("cuda", torch.cuda.is_bf16_supported() if bf16 is None else bf16)
    if torch.backends.mps.is_available():
        return Device("mps", bool(bf16))
    return Device("cpu", bool(bf16))
