"""Writes families.json: what transformers and PEFT make of small models of each family.

Usage: python families.py > families.json
"""

import json
import tempfile
from pathlib import Path

import numpy
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)

VOCABULARY, ROWS, LENGTH, STEPS = 48, 2, 12, 20
SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=16,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    bos_token_id=1,
    eos_token_id=2,
)
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=500.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
LLAMA32 = {
    **LLAMA3,
    "rope_theta": 500_000.0,
    "factor": 32.0,
    "original_max_position_embeddings": 60,
}
# Rows are longer than the window, and √width is no number of bfloat16.
GEMMA3 = {
    **SIZES,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "head_dim": 8,
    "query_pre_attn_scalar": 12,
    "sliding_window": 5,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 2.0},
    },
}
LINEAR = dict(rope_type="linear", rope_theta=1000.0, factor=4.0)
FAMILIES = {
    "Llama": LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=True)),
    "Llama 3": LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=LLAMA3)),
    "Llama 3.2": LlamaForCausalLM(
        LlamaConfig(**SIZES, tie_word_embeddings=True, head_dim=16, rope_parameters=LLAMA32)
    ),
    "Llama with biases": LlamaForCausalLM(
        LlamaConfig(
            **SIZES,
            tie_word_embeddings=True,
            attention_bias=True,
            mlp_bias=True,
            head_dim=8,
            rope_parameters=LINEAR,
        )
    ),
    "Qwen 2": Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=True)),
    "Qwen 3": Qwen3ForCausalLM(Qwen3Config(**SIZES, tie_word_embeddings=True, head_dim=6)),
    "Mistral": MistralForCausalLM(MistralConfig(**SIZES, sliding_window=None)),
    "SmolLM3": SmolLM3ForCausalLM(
        SmolLM3Config(**SIZES, pad_token_id=0, no_rope_layers=[1, 0], head_dim=4)
    ),
    "Gemma 3": Gemma3ForCausalLM(Gemma3TextConfig(**GEMMA3, pad_token_id=0)),
}
TARGETS = {
    "some": ["q_proj", "v_proj"],
    "all": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
}


def numbers(name: str, count: int) -> numpy.ndarray:
    """Multiples of 1/64 between -1 and 1, which every float type holds; as parity.test.ts makes them."""
    state = 0x811C9DC5
    for character in name.encode():
        state = ((state ^ character) * 0x01000193) & 0xFFFFFFFF
    x = (state + numpy.arange(count, dtype=numpy.uint64) * 0x9E3779B9) & 0xFFFFFFFF
    for factor in (0x85EBCA6B, 0xC2B2AE35):
        x = ((x ^ (x >> 15)) * factor) & 0xFFFFFFFF
    x ^= x >> 16
    return (x % 127).astype(numpy.float32) / 64 - 63 / 64


def fill(name: str, tensor: torch.Tensor) -> None:
    values = torch.tensor(numbers(name, tensor.numel())).reshape(tensor.shape)
    if "norm" in name:
        values = 1 + values / 4
    elif "lora" in name:
        values = values / 8
    elif tensor.ndim > 1:
        values = values / 2
    tensor.data.copy_(values)


def tokens() -> torch.Tensor:
    values = (numbers("tokens", ROWS * (LENGTH + 1)) + 1) * 64
    return torch.tensor(values).long().reshape(ROWS, LENGTH + 1) % VOCABULARY


def losses(model: torch.nn.Module, targets: list[str]) -> list[float]:
    """AdamW on an adapter, with Kit's betas; the second half of each row is learned."""
    model = get_peft_model(model, LoraConfig(r=2, lora_alpha=4, target_modules=targets))
    trained = [p for p in model.parameters() if p.requires_grad]
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            fill(name.removeprefix("base_model.model.").replace(".default", ""), parameter)
    optimizer = torch.optim.AdamW(trained, lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01)
    batch = tokens()
    labels = batch[:, 1:].clone()
    labels[:, : LENGTH // 2] = -100
    found = []
    for _ in range(STEPS):
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        found.append(round(loss.item(), 7))
    model.unload()
    return found


def reference(model: torch.nn.Module) -> dict:
    model = model.float().eval()
    model.set_attn_implementation("eager")
    for name, parameter in model.named_parameters():
        fill(name, parameter)
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        config = json.loads((Path(folder) / "config.json").read_text())
    with torch.no_grad():
        logits = model(tokens()[:1, :-1]).logits[0]
    return {
        "config": config,
        "tensors": {name: list(p.shape) for name, p in model.named_parameters()},
        "logits": [[float(f"{v:.7g}") for v in row] for row in logits.tolist()],
        "losses": {name: losses(model, targets) for name, targets in TARGETS.items()},
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({name: reference(model) for name, model in FAMILIES.items()}))
