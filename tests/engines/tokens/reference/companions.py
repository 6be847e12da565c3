"""Writes companions.json: what transformers makes of added tokens that only the files beside
tokenizer.json have. sidecarTokens.test.ts has Kit read the same files.

Usage: python companions.py > companions.json
"""

import copy
import json
import random
import tempfile
from pathlib import Path

from transformers import AutoTokenizer, logging

COUNT, TEXTS = 60, 4
STYLES = json.loads((Path(__file__).parent / "tokens.json").read_text())["families"]
CONTENTS = ["<call>", "<t>", "<|x|>", "tok", "the", "[A]", "<s>", "é", "<pad>", "<a>", "<b>"]
random = random.Random(44)


def flag(chance: float) -> bool:
    return random.random() < chance


def token(content: str | None = None) -> dict:
    made = {"content": content or random.choice(CONTENTS)}
    made |= {name: flag(0.3) for name in ("lstrip", "rstrip", "normalized", "single_word")}
    return {**made, "special": flag(0.5)} if flag(0.7) else made


def named(content: str | None = None) -> dict:
    return {"__type": "AddedToken", **token(content)}


def config(own: list[dict], size: int) -> dict:
    made: dict = {}
    if flag(0.6):
        ids = random.sample(range(size - 4, size + 6), random.randint(1, 5))
        contents = random.sample(CONTENTS, len(ids))
        made["added_tokens_decoder"] = {
            str(i): token(content) for i, content in zip(ids, contents, strict=True)
        }
        for one in own if flag(0.5) else []:
            made["added_tokens_decoder"][str(one["id"])] = {
                key: value for key, value in one.items() if key != "id"
            }
    if flag(0.4):
        made["additional_special_tokens"] = random.sample(CONTENTS, random.randint(0, 3))
    if flag(0.4):
        lists = [random.sample(CONTENTS, 2), {"image_token": "<img>"}, [named()], []]
        made["extra_special_tokens"] = random.choice(lists)
    if flag(0.4):
        name = random.choice(["pad_token", "sep_token", "audio_token", "eos_token"])
        made[name] = random.choice([random.choice(CONTENTS), named()])
    return made


def special_tokens_map() -> dict:
    made: dict = {}
    if flag(0.5):
        made["eos_token"] = random.choice([random.choice(CONTENTS), token()])
    if flag(0.4):
        made["additional_special_tokens"] = random.sample(CONTENTS, 2)
    if flag(0.3):
        made["extra_special_tokens"] = random.sample(CONTENTS, 2)
    return made


def case() -> dict:
    style = random.choice(["SmolLM", "Llama 3", "Llama 2", "Gemma 3"])
    size = STYLES[style]["size"]
    contents = random.sample(CONTENTS, 2 if flag(0.4) else 0)
    own = [
        {"id": size + i, "special": flag(0.5), **token(content), "normalized": False}
        for i, content in enumerate(contents)
    ]
    tokenizer = copy.deepcopy(STYLES[style]["tokenizer"])
    tokenizer["added_tokens"] += own
    changes = config(tokenizer["added_tokens"], size)
    settings = {**STYLES[style]["config"], **changes}
    del settings["chat_template"]
    files = {}
    if flag(0.4):
        chosen = random.sample(CONTENTS, 3)
        files["added_tokens.json"] = {one: size + i for i, one in enumerate(chosen)}
    if flag(0.4):
        files["special_tokens_map.json"] = special_tokens_map()
    parts = [*CONTENTS, " ", "a ", "\n", "the fox", "<img>"]
    texts = ["".join(random.choice(parts) for _ in range(8)) for _ in range(TEXTS)]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        written = {"tokenizer.json": tokenizer, "tokenizer_config.json": settings, **files}
        for name, content in written.items():
            (folder / name).write_text(json.dumps(content))
        t = AutoTokenizer.from_pretrained(folder)
    ids = [t(text)["input_ids"] for text in texts]
    decoded = [t.decode(one, skip_special_tokens=True) for one in ids]
    files["tokenizer_config.json"] = settings
    return {
        "style": style,
        "own": own,
        "files": files,
        "texts": texts,
        "ids": ids,
        "decoded": decoded,
    }


if __name__ == "__main__":
    logging.set_verbosity_error()
    cases: list[dict] = []
    while len(cases) < COUNT:
        try:
            cases.append(case())
        except TypeError:
            # An object that transformers takes no token of.
            continue
    print(json.dumps(cases, ensure_ascii=False))
