"""Writes adapters.json: what PEFT makes of adapters whose modules differ from each other.

Usage: python adapters.py > adapters.json
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.append(str(Path(__file__).parents[2] / "embedded/model/reference"))
from families import SIZES, fill, tokens

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = [
    {"rank_pattern": {"q_proj": 4, "layers.1.mlp.down_proj": 1}},
    {"alpha_pattern": {"q_proj": 16, "^model.layers.0.self_attn.v_proj": 1}},
    {"rank_pattern": {".*mlp.*": 3}, "alpha_pattern": {".*mlp.up_proj": 9, ".*mlp.*": 1}},
    {"use_rslora": True, "rank_pattern": {"k_proj": 5}, "alpha_pattern": {"o_proj": 2}},
    {"layers_to_transform": [1]},
    {"layers_to_transform": 0, "layers_pattern": "layers"},
    {"target_modules": ["q_proj", "v_proj"], "exclude_modules": ["layers.0.self_attn.q_proj"]},
    {"target_modules": r".*layers\.1\..*(q_proj|v_proj)"},
]


def base() -> LlamaForCausalLM:
    model = LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=True)).float().eval()
    model.set_attn_implementation("eager")
    for name, parameter in model.named_parameters():
        fill(name, parameter)
    return model


def result(settings: dict) -> dict:
    config = LoraConfig(**{"r": 2, "lora_alpha": 4, "target_modules": ALL, **settings})
    adapted = get_peft_model(base(), config)
    for name, parameter in adapted.named_parameters():
        if "lora" in name:
            fill(name.replace(".default", ""), parameter)
    with tempfile.TemporaryDirectory() as folder:
        adapted.save_pretrained(folder)
        saved = json.loads((Path(folder) / "adapter_config.json").read_text())
        tensors = load_file(Path(folder) / "adapter_model.safetensors")
        loaded = PeftModel.from_pretrained(base(), folder).eval()
    with torch.no_grad():
        logits = loaded(tokens()[:1, :-1], use_cache=False).logits[0, -1]
    if isinstance(saved["target_modules"], list):
        saved["target_modules"].sort()
    return {
        "config": saved,
        "tensors": {name: list(tensor.shape) for name, tensor in sorted(tensors.items())},
        "logits": [float(f"{value:.6g}") for value in logits.tolist()],
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps([result(case) for case in CASES]))
