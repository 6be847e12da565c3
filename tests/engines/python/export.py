"""An export beside PEFT's own merge, and what transformers answers with it.

export.py <engine's folder> halve <model> <to>: the model in float16, in several files.
export.py <engine's folder> ask <prompts as JSON> [<export> <adapter>]...
"""

import json
import sys
from typing import Any

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM, AutoTokenizer, logging

logging.set_verbosity_error()
logging.disable_progress_bar()


def halve(model: str, to: str) -> dict:
    AutoTokenizer.from_pretrained(model).save_pretrained(to)
    halved = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float16)
    halved.save_pretrained(to, max_shard_size="20KB")
    return {}


def ask(prompts: str, *paths: str) -> list[dict]:
    return [look(*pair, json.loads(prompts)) for pair in zip(paths[::2], paths[1::2], strict=True)]


def look(exported: str, adapter: str, prompts: list[str]) -> dict:
    tokenizer = AutoTokenizer.from_pretrained(exported)
    model, loading = AutoModelForCausalLM.from_pretrained(
        exported, dtype="auto", output_loading_info=True
    )
    dtype = model.dtype
    merged = AutoPeftModelForCausalLM.from_pretrained(adapter, dtype=torch.float32)
    theirs = merged.merge_and_unload().state_dict()
    ours = model.state_dict()
    assert ours.keys() == theirs.keys()
    # Only numbers that lie between two of the type's can be rounded otherwise.
    others = sum((ours[name] != theirs[name].to(dtype)).sum().item() for name in ours)
    apart = max((ours[name] - theirs[name]).abs().max().item() for name in ours)
    all_numbers = sum(one.numel() for one in ours.values())
    return {
        "dtype": str(dtype),
        "missing": sorted(loading["missing_keys"]) + sorted(loading["unexpected_keys"]),
        "others": others / all_numbers,
        "apart": apart,
        "texts": [answer(model.float(), tokenizer, prompt) for prompt in prompts],
    }


def answer(model: Any, tokenizer: Any, prompt: str) -> str:
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    tokens = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    return tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


print(json.dumps({"halve": halve, "ask": ask}[sys.argv[2]](*sys.argv[3:])))
