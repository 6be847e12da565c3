"""Prints conversations as the chat templates of published models write them.

templates.py <the Python engine's folder> <the templates' folder> <a new folder> <how many>
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.data.masks import sequences_of
from kit_engine.data.rows import row_of
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATES, FOLDER, COUNT = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])

CHATML = ("<|im_start|>assistant\n", "<|im_end|>")
LLAMA = ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>")
# What opens and ends an answer, whether there are tools, and whether TRL's patch writes the same.
MODELS = {
    "qwen2_5": (*CHATML, True, True),
    "qwen3": (*CHATML, True, False),
    "qwen3_instruct_2507": (*CHATML, True, True),
    "llama3": (*LLAMA, False, True),
    "llama3_1": (*LLAMA, True, False),
    "llama3_2": (*LLAMA, True, False),
}
SPECIALS = [
    *("<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>"),
    *("<|start_header_id|>", "<|end_header_id|>"),
]
WORDS = [
    *("the", "weather", "in", "Paris", "is", "21", "°C", "today,", "naïve", "日本", "\U0001f9ea"),
    *("ok?", "<b>", "&", "'so'", '"on"', "a\\b"),
]


def text(some: random.Random) -> str:
    words = " ".join(some.choices(WORDS, k=some.randint(1, 9)))
    return words.replace(" is ", "\n") if some.random() < 0.3 else words


def answered(some: random.Random) -> dict[str, Any]:
    """Some with a thought before it, as models that reason write theirs, or beside it."""
    thought = text(some)
    return some.choice(
        [
            *[{"content": text(some)}] * 3,
            {"content": f"<think>\n{thought}\n</think>\n\n{text(some)}"},
            {"content": text(some), "reasoning_content": thought},
        ]
    )


def value(some: random.Random, depth: int = 0) -> Any:
    kinds = [text(some), some.randint(-9, 10**9), 0.5, True, None]
    if depth < 2:
        kinds += [[value(some, 2)], {"a b": value(some, depth + 1)}]
    return some.choice(kinds)


def conversation(some: random.Random, tools: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if some.random() < 0.5:
        messages.append({"role": some.choice(["system", "developer"]), "content": text(some)})
    for _ in range(some.randint(1, 3)):
        asked = text(some)
        parts = [{"type": "text", "text": part} for part in asked.split("\n")]
        messages.append({"role": "user", "content": some.choice([asked, parts]), "name": "Ann"})
        if tools and some.random() < 0.7:
            given = {f"k{i}": value(some) for i in range(some.randint(0, 3))}
            arguments = some.choice([given, json.dumps(given, ensure_ascii=False)])
            called = {"name": "look_up", "arguments": arguments}
            call = {"id": "call_1", "type": "function", "function": called}
            content = some.choice([None, text(some)])
            messages.append({"role": "assistant", "content": content, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": text(some)})
        answer = {"role": "assistant", **answered(some)}
        messages.append(answer | some.choice([{}, {}, {"weight": 0}, {"weight": 1}]))
    messages[-1].pop("weight", None)
    described = {
        "name": "look_up",
        "description": text(some),
        "parameters": {text(some): value(some)},
    }
    return {"messages": messages} | (
        {"tools": [{"type": "function", "function": described}]} if tools else {}
    )


def as_kit_writes(row: dict[str, Any]) -> dict[str, Any]:
    """Parts are lines."""
    messages = [
        {**one, "content": "\n".join(part["text"] for part in one["content"])}
        if isinstance(one["content"], list)
        else one
        for one in row["messages"]
    ]
    return row | {"messages": messages}


def asked_of_transformers(row: dict[str, Any], takes_text: bool) -> list[dict[str, Any]]:
    """As a user of `transformers` would write it."""
    messages = []
    for message in json.loads(json.dumps(row["messages"])):
        message.pop("weight", None)
        if message["role"] == "developer":
            message["role"] = "system"
        if isinstance(message["content"], list):
            message["content"] = "\n".join(part["text"] for part in message["content"])
        for call in message.get("tool_calls", []):
            arguments = call["function"]["arguments"]
            if isinstance(arguments, str) and not takes_text:
                call["function"]["arguments"] = json.loads(arguments)
        messages.append(message)
    return messages


def tokenizer_of(template: str, end: str) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(one, special=True) for one in SPECIALS],
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS), template] * 9, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|begin_of_text|>",
        eos_token=end,
        chat_template=template,
    )


def plain_rule(written: str, opening: str, end: str, messages: list[dict[str, Any]]) -> list[str]:
    """What is learned of a text: between what opens an answer and what ends it, in their order."""
    answers = [part.split(end)[0] + end for part in written.split(opening)[1:]]
    asked = [one for one in messages if one["role"] == "assistant"]
    assert len(answers) == len(asked)
    return [part for part, one in zip(answers, asked, strict=True) if one.get("weight") != 0]


def runs(tokenizer: Any, ids: list[int], learned: list[Any]) -> list[str]:
    found: list[list[int]] = [[]]
    for one, is_learned in zip(ids, learned, strict=True):
        if is_learned:
            found[-1].append(one)
        elif found[-1]:
            found.append([])
    return [tokenizer.decode(run) for run in found if run]


def trl_mask(name: str, tokenizer: Any, messages: list[Any], tools: Any) -> list[str]:
    """What TRL learns with `assistant_only_loss`, but for line ends that its patches count in."""
    patched = (TEMPLATES / f"{name}_training.jinja").read_text()
    encoded = tokenizer.apply_chat_template(
        messages,
        tools=tools,
        chat_template=patched,
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    found = runs(tokenizer, encoded["input_ids"], encoded["assistant_masks"])
    return [one.strip("\n") for one in found]


def written(name: str, number: int) -> dict[str, Any]:
    opening, end, has_tools, is_patched = MODELS[name]
    tokenizer = TOKENIZERS[name]
    row = conversation(random.Random(number), has_tools and number % 2 == 0)
    messages = asked_of_transformers(row, "arguments is string" in tokenizer.chat_template)
    tools = row.get("tools")
    whole = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)
    kit = sequences_of(row_of(as_kit_writes(row)), tokenizer)
    answers = [i for i, one in enumerate(row["messages"]) if one["role"] == "assistant"]
    wanted = [i for i in answers if row["messages"][i].get("weight") != 0]
    if len(kit) == 1:
        sequences = [(whole, plain_rule(whole, opening, end, row["messages"]))]
    else:
        # One for each answer, as the model would have seen it.
        texts = [
            tokenizer.apply_chat_template(messages[: i + 1], tools=tools, tokenize=False)
            for i in wanted
        ]
        sequences = [(one, [one.split(opening)[-1].split(end)[0] + end]) for one in texts]
    trl = trl_mask(name, tokenizer, messages, tools) if is_patched else None
    return {
        "row": row,
        "expected": [
            {"ids": tokenizer(one, add_special_tokens=False)["input_ids"], "learned": learned}
            for one, learned in sequences
        ],
        "python": [
            {"ids": one.ids, "learned": runs(tokenizer, one.ids, one.learned)} for one in kit
        ],
        "trl": trl and [trl[answers.index(i)].strip("\n") for i in wanted],
    }


TOKENIZERS = {}
for model, (_, ends, *_) in MODELS.items():
    TOKENIZERS[model] = tokenizer_of((TEMPLATES / f"{model}.jinja").read_text(), ends)
    TOKENIZERS[model].save_pretrained(FOLDER / model)
print(json.dumps({name: [written(name, n) for n in range(COUNT)] for name in MODELS}))
