"""Where answers end.

ends.py <the Python engine's folder> rows <file of rows> <sft or dpo> <model> …: what is learned of
the rows, and the notes on them.
ends.py <the Python engine's folder> kwargs <rows as JSON> <model>: each row as TRL writes it, and
the engine's prompt of it, or why it has none.
ends.py <the Python engine's folder> answers <prompts as JSON> <model> …: what transformers answers.
"""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.answer.prompt import prompt_ids
from kit_engine.data.dataset import read_dataset
from kit_engine.data.masks import Tokens
from kit_engine.model.models import Source, load_tokenizer
from kit_engine.process.errors import KitError
from kit_engine.train.objectives import objective_of
from transformers import AutoModelForCausalLM, AutoTokenizer, logging

logging.set_verbosity_error()
logging.disable_progress_bar()


def learned(model: str, file: str, kind: str) -> dict[str, Any]:
    tokenizer = load_tokenizer(Source(model))
    objective = objective_of({} if kind == "sft" else {"objective": {"type": kind}})
    rows: list[list[Any]] = []
    notes: list[str] = []

    def see(_row: Any, sequences: list[Tokens], _is_skipped: bool) -> None:
        rows.append([[one.ids, one.learned] for one in sequences])

    read_dataset([file], {"path": file}, objective, tokenizer, 256, notes.append, see)
    return {"rows": rows, "notes": notes}


def answered(folder: str, prompts: list[str]) -> list[list[int]]:
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = []
    for prompt in prompts:
        inputs = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        )
        told = model.generate(**inputs, max_new_tokens=40, do_sample=False)
        answers.append(told[0, inputs["input_ids"].shape[1] :].tolist())
    return answers


def with_kwargs(model: str, rows: list[dict[str, Any]]) -> list[Any]:
    tokenizer, found = load_tokenizer(Source(model)), []
    for row in rows:
        kwargs = row.get("chat_template_kwargs") or {}
        trl = tokenizer.apply_chat_template(row["messages"], **kwargs)["input_ids"]
        request = {"messages": row["messages"][:-1], "chatTemplateKwargs": kwargs}
        try:
            found.append([trl, prompt_ids(request, tokenizer)])
        except KitError as error:
            found.append([trl, str(error)])
    return found


_, _, what, first, *rest = sys.argv
if what == "rows":
    print(json.dumps([learned(one, first, rest[0]) for one in rest[1:]]))
elif what == "kwargs":
    print(json.dumps(with_kwargs(rest[0], json.loads(first))))
else:
    print(json.dumps([answered(one, json.loads(first)) for one in rest]))
