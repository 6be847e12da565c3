"""A new adapter, initialized as on the embedded engine."""

import math
from typing import Any

import torch
from peft import LoraConfig, get_peft_model

from ..data.order import uniforms
from ..process.errors import KitError

ALL_LINEAR = "all-linear"


def with_adapter(model: Any, lora: dict[str, Any], seed: int) -> Any:
    targets = lora["targetModules"]
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=lora["r"],
        lora_alpha=lora["alpha"],
        lora_dropout=0.0,
        target_modules=ALL_LINEAR if targets in (ALL_LINEAR, [ALL_LINEAR]) else targets,
    )
    try:
        adapted = get_peft_model(model, config)
    except ValueError as error:
        raise KitError(
            "CONFIG_INVALID",
            f'"lora.targetModules" must name layers of the model: {first_sentence(str(error))}. '
            'Use "all-linear" for every linear layer.',
        ) from error
    for name, parameter in adapted.named_parameters():
        if ".lora_A." in name:
            initialize(parameter, plain_name(name), seed)
    return adapted


def initialize(parameter: torch.nn.Parameter, name: str, seed: int) -> None:
    """As in PEFT: A is uniform within ±1/√(input size); B stays 0, so nothing changes at first."""
    bound = 1 / math.sqrt(parameter.shape[1])
    numbers = (2 * uniforms(seed, name, 0, parameter.numel()) - 1) * bound
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(numbers).reshape(parameter.shape))


def plain_name(name: str) -> str:
    """`model.layers.0.self_attn.q_proj.lora_A.weight`, without PEFT's prefix and adapter name."""
    return name.removeprefix("base_model.model.").replace(".default.", ".")


def first_sentence(text: str) -> str:
    return text.strip().splitlines()[0].split(". ")[0].rstrip(".")
