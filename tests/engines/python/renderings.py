"""Prints what transformers and the Python engine make of conversations with chat templates.

renderings.py <the Python engine's folder> <the templates' folder> <conversations, a line each>
<the same as Kit writes them>
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.data.chat import read_json
from kit_engine.data.masks import render
from kit_engine.data.rows import row_of
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
ROWS, WRITTEN = (
    Path(path).read_text(encoding="utf-8").strip("\n").split("\n") for path in sys.argv[3:]
)


def asked_of_transformers(row: dict[str, Any], takes_text: bool) -> list[dict[str, Any]]:
    """As a user of `transformers` would write it."""
    for message in row["messages"]:
        # Kit makes no difference between no content and null.
        message.setdefault("content", None)
        if isinstance(message.get("content"), list):
            message["content"] = "\n".join(part["text"] for part in message["content"])
        for call in message.get("tool_calls", []):
            arguments = call["function"]["arguments"]
            if isinstance(arguments, str) and not takes_text:
                call["function"]["arguments"] = json.loads(arguments)
    return row["messages"]


def tried(written: Any, *words: Any, **named: Any) -> str | None:
    try:
        return str(written(*words, **named))
    except Exception:  # noqa: BLE001
        return None


def written(template: str) -> list[tuple[str | None, str | None]]:
    """Each conversation, without and with what opens an answer."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE()), chat_template=template, **SPECIALS
    )
    takes_text = "arguments is string" in template or "['arguments'] +" in template
    found = []
    for text, kits in zip(ROWS, WRITTEN, strict=True):
        row = json.loads(text)
        messages = asked_of_transformers(row, takes_text)
        [conversation] = row_of(read_json(kits)).conversations
        for opens in (False, True):
            theirs = tried(
                tokenizer.apply_chat_template,
                messages,
                tools=row.get("tools"),
                tokenize=False,
                add_generation_prompt=opens,
            )
            found.append((theirs, tried(render, conversation, tokenizer, opens)))
    return found


paths = sorted(Path(sys.argv[2]).glob("*.jinja"))
print(json.dumps({path.stem: written(path.read_text(encoding="utf-8")) for path in paths}))
