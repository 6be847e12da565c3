"""Prints what a check says that trainings need, beside what PyTorch took of a GPU (an NVIDIA H200,
PyTorch 2.11) in MiB at most: memory.py <engine's folder>."""

import json
import sys
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])

from kit_engine.process.device import Device
from kit_engine.train.check import memory_bytes

# SmolLM2-135M, and an adapter of rank 16 to all its linear layers; 8 rows of 512 tokens.
WHOLE, ADAPTER = 134_515_008, 4_884_480
SHAPE = SimpleNamespace(hidden_size=576, num_hidden_layers=30, vocab_size=49_152)
TOOK = {
    ("whole", "bfloat16"): 7_825,
    ("lora", "bfloat16"): 5_881,
    ("whole", "float32"): 11_715,
    ("lora", "float32"): 10_198,
}


def part(count: int, is_trained: bool) -> SimpleNamespace:
    return SimpleNamespace(numel=lambda: count, requires_grad=is_trained)


def said(what: str, numbers: str) -> int:
    parts = [part(WHOLE, what == "whole")] + [part(ADAPTER, True)] * (what == "lora")
    prepared = SimpleNamespace(
        device=Device("cuda", numbers == "bfloat16"),
        model_config=SimpleNamespace(get_text_config=lambda: SHAPE),
        config={"batchSize": 8},
        data=SimpleNamespace(training=SimpleNamespace(largest=lambda: 512)),
    )
    return memory_bytes(prepared, SimpleNamespace(parameters=lambda: parts))


print(json.dumps({" ".join(key): said(*key) / 2**20 / took for key, took in TOOK.items()}))
