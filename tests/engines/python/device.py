"""Prints how devices that this machine lacks are named: device.py <engine's folder>."""

import json
import sys

sys.path.insert(0, sys.argv[1])

import torch
from kit_engine.process.device import Device, find_device

torch.cuda.is_available = lambda: True
torch.cuda.is_bf16_supported = lambda: True
torch.cuda.get_device_name = lambda: "NVIDIA H200"

plans = [torch.backends.cuda.cudnn_sdp_enabled()]
gpu = find_device(None)
plans.append(torch.backends.cuda.cudnn_sdp_enabled())
print(
    json.dumps(
        {
            "gpu": gpu.description(),
            "float32": find_device(False).description(),
            "recorded": gpu.record(),
            "apple": Device("mps", False).description(),
            "plans": plans,
        }
    )
)
