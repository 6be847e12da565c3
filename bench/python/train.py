"""Trains with transformers' Trainer alone, and prints its steps per second.

train.py '{"model": "<folder>", "dataset": "<rows.jsonl>", "rows": 8, "length": 1024,
           "warmup": 20, "steps": 100}'
"""

import json
import os
import sys
import tempfile
import time
from typing import Any

# With more GPUs, the Trainer would multiply the batch by their number.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

task = json.loads(sys.argv[1])
last = task["warmup"] + task["steps"]
tokenizer = AutoTokenizer.from_pretrained(task["model"])
model = AutoModelForCausalLM.from_pretrained(task["model"], dtype=torch.float32)


def row_of(line: str) -> dict[str, list[int]]:
    ids = [*tokenizer(json.loads(line)["text"])["input_ids"], tokenizer.eos_token_id]
    ids = ids[: task["length"]]
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids}


with open(task["dataset"], encoding="utf-8") as file:
    rows = [row_of(line) for line in file]


class Clock(TrainerCallback):
    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == task["warmup"]:
            self.start = time.perf_counter()
        if state.global_step == last:
            self.seconds = time.perf_counter() - self.start


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return len(rows)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return rows[index]


clock = Clock()
has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=last,
        per_device_train_batch_size=task["rows"],
        learning_rate=1e-4,
        logging_steps=task["warmup"],
        save_strategy="no",
        bf16=torch.cuda.is_available(),
        use_cpu=not has_gpu,
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        report_to="none",
    )
    Trainer(
        model=model,
        args=arguments,
        train_dataset=Rows(),
        data_collator=default_data_collator,
        callbacks=[clock],
    ).train()
print(task["steps"] / clock.seconds)
