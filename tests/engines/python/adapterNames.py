"""Prints how far an adapter's logits are from PEFT's, by its tensors' names, and what is refused.

Usage: python adapterNames.py FOLDER_OF_THE_ENGINE
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

sys.path.append(sys.argv[1])
sys.path.append(str(Path(__file__).parents[1] / "lora/reference"))
from adapters import ALL, base, fill, tokens
from kit_engine.model.models import merged
from kit_engine.process.errors import KitError

FORMS = {
    "as PEFT saves them": lambda name: name,
    "with the adapter's name": lambda name: name.replace(".weight", ".default.weight"),
    "without PEFT's prefix": lambda name: name.removeprefix("base_model.model."),
    "of another base": lambda name: name.replace("layers.1", "layers.7"),
}


def logits(folder: str) -> torch.Tensor:
    return merged(base(), folder)(tokens()).logits


with tempfile.TemporaryDirectory() as folder:
    made = get_peft_model(base(), LoraConfig(r=2, target_modules=ALL, rank_pattern={"q_proj": 4}))
    for name, parameter in made.named_parameters():
        if "lora" in name:
            fill(name.replace(".default", ""), parameter)
    expected = made(tokens()).logits
    made.save_pretrained(folder)
    path = Path(folder) / "adapter_model.safetensors"
    tensors = load_file(path)
    found = {}
    for form, rename in FORMS.items():
        save_file({rename(name): tensor for name, tensor in tensors.items()}, path)
        try:
            found[form] = float((logits(folder) - expected).abs().max())
        except KitError as error:
            found[form] = str(error).replace(folder, "FOLDER")
    print(json.dumps(found))
