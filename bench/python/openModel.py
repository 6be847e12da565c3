"""An open model's work by transformers and PEFT in float32: one piece for each line of input, and
for each a line of JSON. The modes and sizes are those of bench/programs/openModel.ts.

openModel.py learn '{"model": "…", "adapter": "…", "texts": "…", "tokens": "…",
                     "rows": 1, "length": 256, "threads": 1}'
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

# A piece of it.
Work = Callable[[], dict[str, Any]]

RATE, PROMPT = 2e-4, "The quick brown fox"
mode, sizes = sys.argv[1], json.loads(sys.argv[2])
rows, length = sizes["rows"], sizes["length"]
torch.set_num_threads(sizes["threads"])
logging.disable_progress_bar()
clock = time.process_time if sizes["threads"] == 1 else time.perf_counter


def load() -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(sizes["model"], dtype=torch.float32)


def stepper(model: torch.nn.Module, next_batch: Callable[[], torch.Tensor]) -> Work:
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), weight_decay=0.01)

    def step() -> dict:
        batch = next_batch()
        start = clock()
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return {"ms": 1000 * (clock() - start), "loss": loss.item()}

    return step


def learn() -> Work:
    tokens = torch.tensor(numpy.fromfile(sizes["tokens"], dtype=numpy.int32)).long()
    count = rows * (length + 1)
    place = 0

    def next_batch() -> torch.Tensor:
        nonlocal place
        if place + count > len(tokens):
            place = 0
        place += count
        return tokens[place - count : place].reshape(rows, length + 1)

    model = PeftModel.from_pretrained(load(), sizes["adapter"], is_trainable=True)
    return stepper(model, next_batch)


def train() -> Work:
    tokenizer = AutoTokenizer.from_pretrained(sizes["model"])
    with open(sizes["texts"]) as lines:
        texts = [json.loads(line)["text"] for line in lines]
    ids = [tokenizer(text)["input_ids"][: length + 1] for text in texts]
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")
    return stepper(get_peft_model(load(), lora), lambda: torch.tensor(ids[:rows]))


def infer() -> Work:
    tokenizer, model = AutoTokenizer.from_pretrained(sizes["model"]), load()
    prompt = tokenizer(PROMPT, return_tensors="pt")

    def answer() -> dict:
        start = time.perf_counter()
        with torch.inference_mode():
            model.generate(**prompt, min_new_tokens=length, max_new_tokens=length, do_sample=False)
        return {"speed": length / (time.perf_counter() - start)}

    return answer


work = {"learn": learn, "train": train, "infer": infer}[mode]()
for _ in sys.stdin:
    print(json.dumps(work()), flush=True)
