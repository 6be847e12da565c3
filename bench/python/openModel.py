"""Work on an open model by transformers and PEFT in float32: for each line of input, measures and
prints a line of JSON. The modes and sizes are those of bench/programs/openModel.ts.

openModel.py learn '{"model": "…", "adapter": "…", "texts": "…", "tokens": "…",
                     "rows": 1, "length": 256, "threads": 1}'
"""

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

# Measures once.
Work = Callable[[], dict[str, Any]]

RATE = 2e-4
# As in bench/openModel.ts and bench/programs/openModel.ts.
LEARNED_SHARE, ROW_STRIDE = 0.3, 997
mode, sizes = sys.argv[1], json.loads(sys.argv[2])
rows, length = sizes["rows"], sizes["length"]
torch.set_num_threads(sizes["threads"])
logging.disable_progress_bar()
clock = time.process_time if sizes["threads"] == 1 else time.perf_counter


def load() -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(sizes["model"], dtype=torch.float32)


def learner(model: torch.nn.Module) -> Callable[[torch.Tensor], None]:
    """Returns a function that takes an optimizer step on a loss."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), weight_decay=0.01)

    def update(loss: torch.Tensor) -> None:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


def stepper(model: torch.nn.Module, next_batch: Callable[[], torch.Tensor]) -> Work:
    update = learner(model)

    def step() -> dict:
        batch = next_batch()
        start = clock()
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        update(loss)
        return {"ms": 1000 * (clock() - start), "loss": loss.item()}

    return step


def file_tokens() -> torch.Tensor:
    return torch.tensor(numpy.fromfile(sizes["tokens"], dtype=numpy.int32)).long()


def adapted() -> torch.nn.Module:
    return PeftModel.from_pretrained(load(), sizes["adapter"], is_trainable=True)


def learn() -> Work:
    tokens = file_tokens()
    count = rows * (length + 1)
    position = 0

    def next_batch() -> torch.Tensor:
        nonlocal position
        if position + count > len(tokens):
            position = 0
        position += count
        return tokens[position - count : position].reshape(rows, length + 1)

    return stepper(adapted(), next_batch)


def prefer() -> Work:
    """Steps of DPO by TRL's trainer, on pairs whose prompt is their first token."""
    import tempfile

    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import DPOConfig, DPOTrainer

    class OfTokens(DPOTrainer):
        def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
            return dataset

    tokens = file_tokens().reshape(-1)
    count = len(tokens) // (length + 1)
    ids = tokens[: count * (length + 1)].reshape(count, length + 1).tolist()
    pairs = [
        {"prompt_ids": one[:1], "chosen_ids": one[1:], "rejected_ids": other[1:]}
        for one, other in zip(ids[::2], ids[1::2], strict=False)
    ]
    words = Tokenizer(models.WordLevel({"<pad>": 0}, unk_token="<pad>"))
    trainer = OfTokens(
        model=load(),
        args=DPOConfig(
            output_dir=tempfile.mkdtemp(),
            per_device_train_batch_size=rows,
            bf16=False,
            gradient_checkpointing=False,
            max_length=None,
            use_cpu=True,
            report_to=[],
        ),
        train_dataset=Dataset.from_list(pairs),
        processing_class=PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token="<pad>", eos_token="<pad>"
        ),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
    )
    model = trainer.model.train()
    update = learner(model)
    batches = iter(trainer.get_train_dataloader())

    def step() -> dict:
        batch = next(batches)
        start = clock()
        loss = trainer.compute_loss(model, batch)
        update(loss)
        return {"ms": 1000 * (clock() - start), "loss": loss.item()}

    return step


def mixed() -> Work:
    """Trains on all rows once, each batch padded to its longest row."""
    tokens, lengths, model = file_tokens(), sizes["lengths"], adapted()
    update = learner(model)

    def batch(first: int) -> dict[str, torch.Tensor]:
        chosen = range(first, min(first + rows, len(lengths)))
        longest = max(lengths[i] for i in chosen) + 1
        ids = torch.zeros(len(chosen), longest, dtype=torch.long)
        mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
        for row, i in enumerate(chosen):
            count = lengths[i] + 1
            ids[row, :count] = tokens[i * ROW_STRIDE : i * ROW_STRIDE + count]
            mask[row, :count] = 1
            unlearned = count - math.ceil(lengths[i] * LEARNED_SHARE)
            labels[row, unlearned:count] = ids[row, unlearned:count]
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}

    batches = [batch(first) for first in range(0, len(lengths), rows)]

    def steps() -> dict:
        start = clock()
        for one in batches:
            loss = model(**one, use_cache=False).loss
            update(loss)
        return {"ms": 1000 * (clock() - start), "loss": loss.item()}

    return steps


def train() -> Work:
    tokenizer = AutoTokenizer.from_pretrained(sizes["model"])
    with open(sizes["texts"]) as lines:
        texts = [json.loads(line)["text"] for line in lines]
    ids = [tokenizer(text)["input_ids"][: length + 1] for text in texts]
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")
    return stepper(get_peft_model(load(), lora), lambda: torch.tensor(ids[:rows]))


work = {"learn": learn, "prefer": prefer, "mixed": mixed, "train": train}[mode]()
for _ in sys.stdin:
    print(json.dumps(work()), flush=True)
