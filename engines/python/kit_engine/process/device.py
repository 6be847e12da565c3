"""The device, and its precision."""

import platform
from dataclasses import dataclass

import torch

from .environment import NEEDED, TRL, installed


@dataclass
class Device:
    # `cuda`, `mps` or `cpu`.
    name: str
    # Whether matrices are multiplied in bfloat16; trained weights stay in float32.
    bf16: bool

    def trained_dtype(self) -> torch.dtype:
        return torch.float32

    def frozen_dtype(self) -> torch.dtype:
        """The type of frozen weights."""
        return torch.bfloat16 if self.bf16 else torch.float32

    def precision(self) -> str:
        return "bfloat16" if self.bf16 else "float32"

    def record(self) -> dict[str, str]:
        """The environment, for a job's log."""
        gpu = {"gpu": torch.cuda.get_device_name()} if self.name == "cuda" else {}
        versions = {"python": platform.python_version(), **installed({**NEEDED, **TRL})[0]}
        return {"device": self.name, **gpu, "precision": self.precision(), **versions}

    def description(self) -> str:
        """For the user, who may not expect to train on the CPU."""
        precision = self.precision()
        if self.name == "cpu":
            return f"device cpu, {precision}: PyTorch {torch.__version__} sees no GPU"
        gpu = f" ({torch.cuda.get_device_name()})" if self.name == "cuda" else ""
        return f"device {self.name}{gpu}, {precision}"


def find_device(bf16: bool | None) -> Device:
    """`bf16` is the option; None means the device's default."""
    if torch.cuda.is_available():
        # cuDNN's attention takes a second or more to plan for each new batch length.
        torch.backends.cuda.enable_cudnn_sdp(False)
        return Device("cuda", torch.cuda.is_bf16_supported() if bf16 is None else bf16)
    if torch.backends.mps.is_available():
        return Device("mps", bool(bf16))
    return Device("cpu", bool(bf16))
