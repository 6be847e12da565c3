"""The learning rate of each step, as in engines/training/schedule.ts."""

import math
from typing import Any

from ..process.constants import CONSTANTS

# The cosine falls to this share of the peak.
FLOOR = CONSTANTS["cosineFloor"]


def step_count(config: dict[str, Any], rows: int) -> int:
    """Total optimizer steps. `rows` is the number of rows per epoch."""
    if config.get("numTrainEpochs") is None:
        return int(config["maxSteps"])
    return max(1, math.ceil(config.get("numTrainEpochs") * rows / rows_per_step(config)))


def rows_per_step(config: dict[str, Any]) -> int:
    return int(config["batchSize"] * config["gradientAccumulationSteps"])


def learning_rate(step: int, steps: int, config: dict[str, Any]) -> float:
    """The rate of a step, counted from 1: linear warm-up to the peak, then lrSchedulerType."""
    peak, kind = float(config["learningRate"]), config["lrSchedulerType"]
    warmup = config["warmupSteps"]
    if warmup < 1:
        warmup = math.ceil(warmup * steps)
    if step < warmup:
        return peak * step / warmup
    is_linear = kind == "linear"
    start = max(1, warmup) if is_linear else warmup
    end = steps + 1 if is_linear else steps
    progress = min(1.0, (step - start) / max(1, end - start))
    if kind == "cosine":
        return peak * (FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2)
    return peak * (1 - progress) if is_linear else peak
