"""Takes training steps of a Llama with random weights by transformers. For each line of input,
sizes as JSON, it prints the mean time of a step in ms (on one thread, processor time) and, on CUDA,
the peak of its memory in MB. Consecutive lines train one model if only their steps differ.

{"shape": {"width": 96, "layers": 3, "heads": 4, "kvHeads": 4, "intermediateSize": 256,
           "vocabulary": 264, "context": 256},
 "rows": 8, "length": 96, "steps": 1, "device": "cpu", "type": "float32", "threads": 1}

With "lora": true, it trains PEFT's adapter on all linear layers, as people do: on a base in
bfloat16, the adapter is in float32 and steps autocast. Float32 is without TF32. Otherwise as the
Trainer's defaults: SDPA, AdamW (fused on a GPU), clipping at 1, no activation checkpointing.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig


def model_of(task: dict[str, Any]) -> torch.nn.Module:
    shape = task["shape"]
    config = LlamaConfig(
        hidden_size=shape["width"],
        intermediate_size=shape["intermediateSize"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["kvHeads"],
        vocab_size=shape["vocabulary"],
        max_position_embeddings=shape["context"],
        tie_word_embeddings=True,
        use_cache=False,
    )
    options = {"dtype": getattr(torch, task["type"]), "attn_implementation": "sdpa"}
    model = AutoModelForCausalLM.from_config(config, **options)
    if not task.get("lora"):
        return model
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))


def stepper(task: dict[str, Any]) -> Callable[[], None]:
    """Returns a function that takes a step."""
    with torch.device(task["device"]):
        model = model_of(task).train()
        shape = (task["rows"], task["length"] + 1)
        tokens = torch.randint(0, task["shape"]["vocabulary"], shape)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, fused=task["device"] != "cpu")
    autocast = {"dtype": torch.bfloat16, "enabled": task["type"] == "bfloat16"}

    def step() -> None:
        with torch.autocast(task["device"], **autocast):
            logits = model(input_ids=tokens[:, :-1]).logits
        predictions = logits.float().flatten(0, 1)
        torch.nn.functional.cross_entropy(predictions, tokens[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


previous, step = None, None
for line in sys.stdin:
    task = json.loads(line)
    steps = task.pop("steps")
    on_cuda = task["device"] == "cuda"
    if task != previous:
        step = None
        gc.collect()
        if on_cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        torch.manual_seed(1)
        torch.set_num_threads(task["threads"])
        step = stepper(task)
        previous = task
    synchronize = getattr(torch, task["device"]).synchronize
    on_one_thread = task["device"] == "cpu" and task["threads"] == 1
    clock = time.process_time if on_one_thread else time.perf_counter
    synchronize()
    start = clock()
    for _ in range(steps):
        step()
    synchronize()
    answer = {"ms": 1000 * (clock() - start) / steps}
    if on_cuda:
        answer["MB"] = torch.cuda.max_memory_allocated() / 1e6
    print(json.dumps(answer), flush=True)
