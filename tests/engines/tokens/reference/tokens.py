"""Writes tokens.json: small tokenizers of five styles, and what transformers makes of texts and
conversations with them. parity.test.ts makes the same texts.

Usage: python tokens.py > tokens.json
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

TEXTS, CONVERSATIONS, BLOCK = 10_000, 1_000, 100
FRAGMENTS = [
    *["the", " the", "The", " quick", " brown", "fox", " jumps", "over", " lazy dog", "ing", "tion"],
    *[" ", "  ", "   ", "\n", "\n\n", "\t", " \n", ".", ",", "!", "?", "'s", "n't", "\"", "(", ")"],
    *["0", "7", "42", " 1998", "3.14", "1,000", "é", "e\u0301", "ü", "ß", "日本", "語", "שלום"],
    *["🧪", "👩\u200d🚀", "\u00a0", "\u200b", "-", "—", "/", "{", "}", "==", "<", ">", "|", "_"],
    *["def ", "return", " x", "http://a.b", "A", "B", "Z", "zzzz", "<s>", "[INST]", "im_end"],
]
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{%s}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3 = (
    "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
    "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}"
    "{% endif %}{% endfor %}"
)
GEMMA3 = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{% set prefix = messages[0]['content'] + '\n\n' %}{% set loop_messages = messages[1:] %}"
    "{% else %}{% set prefix = '' %}{% set loop_messages = messages %}{% endif %}"
    "{% for message in loop_messages %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + (prefix if loop.first else '') }}"
    "{{ message['content'] | trim }}{{ '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
QWEN3 = (
    "{%- if messages[0].role == 'system' %}\n"
    "    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n{%- endif %}\n"
    "{%- for message in messages %}\n"
    "    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"
    "    {%- elif message.role == \"assistant\" %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + message.content.lstrip('\\n') }}\n"
    "        {{- '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}"
)


def byte_level(*before: pre_tokenizers.PreTokenizer, regex: bool) -> pre_tokenizers.PreTokenizer:
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)
    return pre_tokenizers.Sequence([*before, last])


def split(digits: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(GPT4 % digits), "isolated")


def smollm() -> tuple[Tokenizer, dict, list[str]]:
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = byte_level(pre_tokenizers.Digits(individual_digits=True), regex=True)
    t.decoder = decoders.ByteLevel()
    names = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "unk_token": "<|endoftext|>"}
    return t, {**names, "chat_template": CHATML}, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def llama3() -> tuple[Tokenizer, dict, list[str]]:
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = byte_level(split("1,3"), regex=False)
    t.decoder = decoders.ByteLevel()
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}
    specials = [*names.values(), "<|start_header_id|>", "<|end_header_id|>"]
    return t, {**names, "chat_template": LLAMA3}, specials


def qwen3() -> tuple[Tokenizer, dict, list[str]]:
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = byte_level(split("1"), regex=False)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.decoder = decoders.ByteLevel()
    names = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return t, {**names, "chat_template": QWEN3}, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def llama2() -> tuple[Tokenizer, dict, list[str]]:
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    t.decoder = decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)])
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return t, {**names, "chat_template": LLAMA2}, ["<unk>", "<s>", "</s>"]


def gemma3() -> tuple[Tokenizer, dict, list[str]]:
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    t.decoder = decoders.Sequence(parts)
    names = {"pad_token": "<pad>", "eos_token": "<end_of_turn>", "bos_token": "<bos>"}
    names["unk_token"] = "<unk>"
    specials = [*names.values(), "<eos>", "<start_of_turn>"]
    return t, {**names, "chat_template": GEMMA3}, specials


SENTENCEPIECE = ("Llama 2", "Gemma 3")
STYLES = {
    "SmolLM": smollm,
    "Llama 3": llama3,
    "Qwen 3": qwen3,
    "Llama 2": llama2,
    "Gemma 3": gemma3,
}


class Source:
    """The same numbers as parity.test.ts draws."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, count: int) -> int:
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 8) % count

    def text(self) -> str:
        return "".join(FRAGMENTS[self.below(len(FRAGMENTS))] for _ in range(1 + self.below(14)))

    def conversation(self) -> list[dict[str, str]]:
        messages = []
        if self.below(3) == 0:
            messages.append({"role": "system", "content": self.text()})
        for _ in range(1 + self.below(3)):
            messages.append({"role": "user", "content": self.text()})
            messages.append({"role": "assistant", "content": self.text()})
        return messages


def train(t: Tokenizer, specials: list[str], with_bytes: bool) -> None:
    source = Source(7)
    texts = [source.text() for _ in range(2_000)]
    alphabet = [] if with_bytes else pre_tokenizers.ByteLevel.alphabet()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if with_bytes else []
    trainer = trainers.BpeTrainer(
        vocab_size=len(specials) + 256 + 160,
        special_tokens=[*specials, *bytes_],
        initial_alphabet=alphabet,
        limit_alphabet=60 if with_bytes else 1_000,
        show_progress=False,
    )
    t.train_from_iterator(texts, trainer)


def saved(folder: Path, name: str) -> None:
    t, config, specials = STYLES[name]()
    train(t, specials, with_bytes=name in SENTENCEPIECE)
    text = t.to_str()
    if name in SENTENCEPIECE:
        # The trainer marks the bytes as special tokens; in sentencepiece's they are tokens.
        file = json.loads(text)
        file["added_tokens"] = [one for one in file["added_tokens"] if one["content"] in specials]
        t = Tokenizer.from_str(json.dumps(file))
    if name == "Llama 3" or name in SENTENCEPIECE:
        bos = config["bos_token"]
        start = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, t.token_to_id(bos))]
        )
        trimmed = processors.ByteLevel(trim_offsets=True)
        t.post_processor = processors.Sequence([trimmed, start]) if name == "Llama 3" else start
    t.add_special_tokens([AddedToken(one, special=True, normalized=False) for one in specials])
    t.save(str(folder / "tokenizer.json"), pretty=False)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def digest(values: list) -> str:
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def blocks(values: list) -> list[str]:
    return [digest(values[i : i + BLOCK]) for i in range(0, len(values), BLOCK)]


def reference(name: str, tokens_of) -> dict:
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        saved(folder, name)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        source = Source(1)
        texts = [source.text() for _ in range(TEXTS)]
        ids = [tokenizer(text)["input_ids"] for text in texts]
        source = Source(2)
        rows = [tokens_of(source.conversation(), tokenizer)[0] for _ in range(CONVERSATIONS)]
        return {
            "tokenizer": json.loads((folder / "tokenizer.json").read_text()),
            "config": json.loads((folder / "tokenizer_config.json").read_text()),
            "size": len(tokenizer),
            "texts": blocks(ids),
            "decoded": blocks([tokenizer.decode(one, skip_special_tokens=True) for one in ids]),
            "conversations": blocks([[one.ids, [int(v) for v in one.learned]] for one in rows]),
        }


if __name__ == "__main__":
    # The Python engine's own masks, by character offsets.
    sys.path.insert(0, str(Path(__file__).parents[4] / "engines" / "python"))
    from kit_engine.data.chat import Conversation
    from kit_engine.data.masks import conversation_tokens

    def tokens_of(messages: list[dict[str, str]], tokenizer) -> list:
        return conversation_tokens(Conversation(messages), tokenizer)

    families = {name: reference(name, tokens_of) for name in STYLES}
    print(json.dumps({"fragments": FRAGMENTS, "families": families}, ensure_ascii=False))
