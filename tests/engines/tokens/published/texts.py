"""Adversarial texts, and what tokenizers makes of them with published tokenizers: texts.json.

Usage: python texts.py <folder with the packages' node_modules> > texts.json
published.test.ts makes the same texts.
"""

import hashlib
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer

COUNT = 1_384
BLOCK = 8
PACKAGES = ["llama2", "llama3_1", "qwen3", "gemma3"]
FRAGMENTS = [
    *["the", " the", "The", " quick", " fox", "ing", "tion", "naïve", "don't", "I'LL", "we've 's"],
    *[
        " ",
        "  ",
        "   ",
        " " * 17,
        "\n",
        "\n\n",
        "\n\n\n\n",
        "\t",
        "\t\t",
        " \n",
        "\n ",
        "\r\n",
        "\r",
    ],
    *["0", "7", "42", " 1998", "3.14", "1,000,000", "²", "½", "٣٤", "Ⅻ", "１２", "0x1F"],
    *["é", "e\u0301", "ü", "ß", "ẞ", "Σ", "ΑΣ", "ς", "İ", "ı", "ſ", "'ſ", "K", "ǅ", "ŉ", "ﬁ", "ﬃ"],
    *[
        "日本語",
        "中文，。",
        "가각",
        "ᄀ\u1161",
        "ไทย",
        "हिन्दी",
        "தமிழ்",
        "العربية",
        "שלום",
        "\u202eabc\u202c",
        "\u061c",
    ],
    *["🧪", "👩\u200d🚀", "🇩🇪", "👍🏽", "❤️", "𝒳", "𠀀", "\U0002b920", "a\u0301\u0327", "Z̷̡̛a̵"],
    *[
        "\u00a0",
        "\u200b",
        "\u200d",
        "\u0085",
        "\u2028",
        "\ufeff",
        "\u3000",
        "\u00ad",
        "\u0001",
        "\u0000",
        "\ufffd",
    ],
    *[
        ".",
        ",",
        "!",
        "?",
        "...",
        "-",
        "—",
        "_",
        "/",
        "{",
        "}",
        "==",
        "!=",
        "<",
        ">",
        "|",
        "\\",
        '"',
        "`",
    ],
    *[
        "def f(x):\n    return x",
        "http://a.b/c?d=e&f",
        "$&",
        "$1",
        "<!-- -->",
        "</div>",
        "SELECT *",
        "#!/bin/sh",
    ],
    *[
        "<s>",
        "</s>",
        "<unk>",
        "<|begin_of_text|>",
        "<|eot_id|>",
        "<|start_header_id|>",
        "<|im_start|>",
    ],
    *["<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "<bos>", "<eos>"],
    *["<start_of_turn>", "<end_of_turn>", "<unused7>", "<table>", "[INST]", "[/INST]", "<<SYS>>"],
    *[
        "▁",
        "▁▁",
        "Ġ",
        "Ċ",
        "##",
        "</w>",
        "<0x41>",
        "<0x0A>",
        "a" * 60,
        "ab" * 40,
        "=" * 33,
        "zq" * 9,
    ],
]


class Source:
    """The same numbers as published.test.ts draws."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, count: int) -> int:
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 8) % count

    def text(self) -> str:
        return "".join(FRAGMENTS[self.below(len(FRAGMENTS))] for _ in range(self.below(16)))


def digest(values: list) -> str:
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def reference(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """Of each text the ids with and without special tokens, and both decoded."""
    rows = []
    for text in texts:
        whole = tokenizer.encode(text).ids
        bare = tokenizer.encode(text, add_special_tokens=False).ids
        shown = tokenizer.decode(bare, skip_special_tokens=False)
        rows.append([whole, bare, tokenizer.decode(whole), shown])
    return [digest(rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK)]


if __name__ == "__main__":
    source = Source(44)
    texts = [source.text() for _ in range(COUNT)]
    found = {}
    for name in PACKAGES:
        path = Path(sys.argv[1]) / f"@lenml/tokenizer-{name}" / "models" / "tokenizer.json"
        if path.exists():
            found[name] = reference(Tokenizer.from_file(str(path)), texts)
    print(json.dumps({"fragments": FRAGMENTS, "tokenizers": found}, ensure_ascii=False))
