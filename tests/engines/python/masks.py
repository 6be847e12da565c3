"""Prints what is learned of a conversation by its template: masks.py <engine's folder>."""

import json
import sys

sys.path.insert(0, sys.argv[1])

from kit_engine.answer.decoding import AnswerText, TokenBytes
from kit_engine.data.masks import sequences_of
from kit_engine.data.rows import row_of
from kit_engine.process.errors import KitError
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3 = (
    "{{ '<|begin|>' }}{% for m in messages %}{{ '<|start|>' + m['role'] + '<|stop|>\n\n' + "
    "m['content'] | trim + '<|eot|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant<|stop|>\n\n' }}{% endif %}"
)
# Leaves out the answers but the last, as a template that forgets how they were thought of.
FORGETFUL = (
    "{% for m in messages %}{% if m['role'] == 'user' or loop.last %}{{ '<|im_start|>' + m['role'] "
    "+ '\n' + m['content'] + '<|im_end|>\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# An answer's first characters make a token with what comes before them.
JOINED = (
    "{% for m in messages %}{{ m['role'] + '::' + m['content'] + '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant::' }}{% endif %}"
)
# Asks for an answer by words that it does not write before one.
REOPENING = CHATML.replace("assistant\n' }}{% endif", "assistant\nthink' }}{% endif")
REFUSING = "{{ raise_exception('Only user and assistant') }}"

ASKED = [
    {"role": "system", "content": "Be kind"},
    {"role": "user", "content": "hi  there"},
    {"role": "assistant", "content": " hello é 日本 \n"},
    {"role": "user", "content": "again\n"},
    {"role": "assistant", "content": "hello"},
]


def tokenizer_of(end: str, template: str | None) -> PreTrainedTokenizerFast:
    """A byte-level BPE with merges of its own."""
    specials = ["<|im_start|>", "<|im_end|>", "<|begin|>", "<|start|>", "<|stop|>", "<|eot|>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    # As Llama 3's: white space has no width in the offsets.
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(one, special=True) for one in specials],
        show_progress=False,
    )
    texts = [*(one["content"] for one in ASKED), "a:::b"]
    tokenizer.train_from_iterator(texts * 9, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=end, chat_template=template
    )


def learned(end: str, template: str | None, row: dict) -> list[str] | str:
    """The text of each run of learned tokens."""
    tokenizer = tokenizer_of(end, template)
    try:
        sequences = sequences_of(row_of(row), tokenizer)
    except KitError as error:
        return str(error)
    runs: list[list[int]] = [[]]
    for tokens in sequences:
        for one, is_learned in zip(tokens.ids, tokens.learned, strict=True):
            if is_learned:
                runs[-1].append(one)
            elif runs[-1]:
                runs.append([])
        runs.append([])
    return [tokenizer.decode(run) for run in runs if run]


def answered(first: int, last: int) -> str:
    """Of the four bytes of a character, each a token, and a letter."""
    tokenizer = tokenizer_of("<|im_end|>", CHATML)
    text = AnswerText(TokenBytes(tokenizer))
    return "".join(text.push(one) for one in tokenizer("\U0001f9ea!")["input_ids"][first:last])


conversation = {"messages": ASKED}
print(
    json.dumps(
        {
            "ChatML": learned("<|im_end|>", CHATML, conversation),
            "Llama 3": learned("<|eot|>", LLAMA3, conversation),
            "none": learned("<|im_end|>", None, conversation),
            "text": learned("<|im_end|>", None, {"text": "hello there"}),
            "joined": learned("<|im_end|>", JOINED, {"prompt": "a", "completion": ":hello"}),
            "rewrites": learned("<|im_end|>", FORGETFUL, conversation),
            "reopens": learned("<|im_end|>", REOPENING, conversation),
            "weighted": learned(
                "<|im_end|>",
                CHATML,
                {"messages": [*ASKED[:2], ASKED[2] | {"weight": 0}, *ASKED[3:]]},
            ),
            "tools": learned("<|im_end|>", CHATML, conversation | {"tools": [{}]}),
            "refuses": learned("<|im_end|>", REFUSING, conversation),
            "unasked": learned("<|im_end|>", CHATML, {"messages": ASKED[2:]}),
            "bytes": [answered(0, 5), answered(0, 3), answered(2, 5), answered(0, 4)],
        }
    )
)
