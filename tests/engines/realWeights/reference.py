"""Prints what transformers makes of the real weights, computing in float32 as Kit does.

reference.py <model> <questions and rows, as JSON>
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, logging

sys.path.append(str(Path(__file__).parents[1] / "tokens" / "reference"))

from tokens import TEXTS, Source, blocks

ROWS_AT_ONCE = 25


def answer(model: Any, tokenizer: Any, question: str, most: int) -> str:
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    tokens = model.generate(**inputs, max_new_tokens=most, do_sample=False)
    text = tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    # A character that is cut off, which Kit drops.
    return text.removesuffix("\ufffd")


def mean_loss(model: Any, tokenizer: Any, rows: list[str]) -> float:
    """Of all tokens but each row's first, with the end of each."""
    total, count = 0.0, 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        texts = [row + tokenizer.eos_token for row in rows[start : start + ROWS_AT_ONCE]]
        batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)[:, 1:]
        with torch.no_grad():
            logits = model(**batch).logits[:, :-1].float()
        total += torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), reduction="sum"
        ).item()
        count += int((labels != -100).sum())
    return total / count


def token_blocks(tokenizer: Any) -> list[str]:
    source = Source(1)
    return blocks([tokenizer(source.text())["input_ids"] for _ in range(TEXTS)])


logging.set_verbosity_error()
logging.disable_progress_bar()
folder, asked = sys.argv[1], json.loads(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
questions = asked["questions"]
found = {
    "answers": [answer(model, tokenizer, one, asked["maxTokens"]) for one in questions],
    "loss": mean_loss(model, tokenizer, asked["rows"]),
    "tokens": token_blocks(tokenizer),
}
print(json.dumps(found))
