"""Writes preferences.json: what TRL makes of small models that learn from preferences.

Usage: python preferences.py > preferences.json, with trl 1.8 installed
"""

import contextlib
import copy
import json
import sys
import tempfile
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets
from families import FAMILIES, VOCABULARY, fill, numbers
from peft import LoraConfig
from tokenizers import Tokenizer, models
from torch.utils.data import SequentialSampler
from transformers import PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer

ROWS, HELD_OUT, BATCH, ACCUMULATION, STEPS = 24, 6, 3, 2, 20
RATE, DECAY = 1e-3, 0.01
TARGETS = ["q_proj", "v_proj", "down_proj"]
# Of a whole model's tensors, every so manieth number is kept.
STRIDE = 16
OBJECTIVES = {
    "dpo": {"type": "dpo", "beta": 0.1, "labelSmoothing": 0, "sftWeight": 0},
    "dpo with more": {"type": "dpo", "beta": 0.3, "labelSmoothing": 0.1, "sftWeight": 0.5},
    "kto": {"type": "kto", "beta": 0.2, "desirableWeight": 1.25, "undesirableWeight": 0.75},
}


def ids(name: str, count: int) -> list[int]:
    return [int((value + 1) * 64) % VOCABULARY for value in numbers(name, count)]


def rows(of: str, first: int, count: int) -> list[dict[str, Any]]:
    """Of uneven lengths, as preferences.test.ts makes them."""
    found = []
    for i in range(first, first + count):
        row: dict[str, Any] = {"prompt_ids": ids(f"prompt {i}", 2 + i % 5)}
        if of == "dpo":
            row["chosen_ids"] = ids(f"chosen {i}", 1 + i * 7 % 6)
            row["rejected_ids"] = ids(f"rejected {i}", 1 + i * 3 % 5)
        else:
            row["completion_ids"] = ids(f"chosen {i}", 1 + i * 7 % 6)
            row["label"] = i * 5 % 7 < 4
        found.append(row)
    return found


class InOrder:
    """A trainer of tokens, in the order of its rows, that keeps its losses unrounded."""

    def _prepare_dataset(self, dataset, processing_class, args, dataset_name):
        if "label" not in dataset.column_names:
            return dataset
        return concatenate_datasets(
            [dataset, self._get_kl_dataset(dataset, dataset_name, args)], axis=1
        )

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        loss = result[0] if return_outputs else result
        if model.training:
            self.losses.append(loss.item())
        return result


class Dpo(InOrder, DPOTrainer):
    pass


class Kto(InOrder, KTOTrainer):
    pass


def trainer_of(model, objective: dict[str, Any], lora: bool, folder: str):
    common = dict(
        output_dir=folder,
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        gradient_accumulation_steps=ACCUMULATION,
        max_steps=STEPS,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        bf16=False,
        gradient_checkpointing=False,
        max_length=None,
        max_grad_norm=1.0,
        use_cpu=True,
        disable_tqdm=True,
        beta=objective["beta"],
    )
    kind = objective["type"]
    if kind == "dpo":
        smoothing, sft = objective["labelSmoothing"], objective["sftWeight"]
        losses = ["robust" if smoothing else "sigmoid"] + (["sft"] if sft else [])
        weights = [1.0] + ([sft] if sft else [])
        args = DPOConfig(
            **common, loss_type=losses, loss_weights=weights, label_smoothing=smoothing
        )
    else:
        args = KTOConfig(
            **common,
            desirable_weight=objective["desirableWeight"],
            undesirable_weight=objective["undesirableWeight"],
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 2}, unk_token="<pad>")),
        pad_token="<pad>",
        eos_token="<eos>",
    )
    trainer = (Dpo if kind == "dpo" else Kto)(
        model=model,
        ref_model=None if lora else copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(rows(kind, 0, ROWS)),
        eval_dataset=Dataset.from_list(rows(kind, ROWS, HELD_OUT)),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=2, lora_alpha=4, target_modules=TARGETS) if lora else None,
    )
    trainer.losses = []
    return trainer


def metrics_of(logs: dict[str, float], prefix: str = "") -> dict[str, float]:
    """`rewards/chosen` → `rewardsChosen`"""
    names = ["rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "kl"]
    found = {}
    for name in names:
        if f"{prefix}{name}" in logs:
            first, *rest = name.split("/")
            found[first + "".join(part.capitalize() for part in rest)] = logs[f"{prefix}{name}"]
    return found


def case(family: str, objective: dict[str, Any], lora: bool) -> dict[str, Any]:
    model = copy.deepcopy(FAMILIES[family]).float()
    model.set_attn_implementation("eager")
    for name, parameter in model.named_parameters():
        fill(name, parameter)
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(model, objective, lora, folder)
        trained = {
            name.removeprefix("base_model.model.").replace(".default", ""): parameter
            for name, parameter in trainer.model.named_parameters()
            if parameter.requires_grad
        }
        if lora:
            for name, parameter in trained.items():
                fill(name, parameter)
        groups = [
            {"params": [p for p in trained.values() if p.ndim > 1], "weight_decay": DECAY},
            {"params": [p for p in trained.values() if p.ndim <= 1], "weight_decay": 0.0},
        ]
        trainer.optimizer = torch.optim.AdamW(
            [group for group in groups if group["params"]], lr=RATE, betas=(0.9, 0.95), eps=1e-8
        )
        trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            trainer.optimizer, lambda step: 1.0
        )
        trainer.train()
        logs = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
        evaluated = trainer.evaluate()
    losses = trainer.losses
    means = [sum(losses[i : i + ACCUMULATION]) / ACCUMULATION for i in range(0, len(losses), ACCUMULATION)]
    stride = 1 if lora else STRIDE
    return {
        "family": family,
        "objective": objective,
        "lora": lora,
        "logs": [
            {"loss": loss, "gradNorm": float(entry["grad_norm"]), "metrics": metrics_of(entry)}
            for loss, entry in zip(means, logs, strict=True)
        ],
        "evaluated": {"loss": evaluated["eval_loss"], "metrics": metrics_of(evaluated, "eval_")},
        "tensors": {
            name: parameter.detach().flatten()[::stride].tolist()
            for name, parameter in trained.items()
        },
    }


def short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, list):
        return [short(one) for one in value]
    if isinstance(value, dict):
        return {name: short(one) for name, one in value.items()}
    return value


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        cases = [
            case(family, objective, lora)
            for family in ("Llama", "Qwen 3")
            for objective in OBJECTIVES.values()
            for lora in (True, False)
        ]
    json.dump([short(one) for one in cases], sys.stdout, separators=(",", ":"))
    print()
