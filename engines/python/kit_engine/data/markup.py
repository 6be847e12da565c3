"""Special tokens spelled out in text, as in engines/tokens/markup.ts."""

import re
from dataclasses import dataclass
from typing import Any

from ..model.stop_tokens import stop_tokens_of
from ..process.constants import CONSTANTS
from ..process.limits import TEMPLATES

# How models write their special tokens.
MARKERS = re.compile(CONSTANTS["markers"])

QUESTION_TEXT = "a question"
QUESTION = {"role": "user", "content": QUESTION_TEXT}
CONVERSATIONS = [
    [QUESTION],
    [QUESTION, {"role": "assistant", "content": "an answer"}, QUESTION],
    [{"role": "system", "content": "a task"}, QUESTION],
]


@dataclass
class Markup:
    has_template: bool
    # Everything that the chat template writes, and the special tokens in it.
    template_text: str
    own_tokens: list[str]
    # What the template writes around a question.
    opening: str
    closing: str
    # Texts of the tokenizer's added tokens.
    added: set[str]

    def is_rendered(self, prompt: str) -> bool:
        """Whether a prompt is already rendered with the model's chat template."""
        if not self.has_template:
            return False
        if any(prompt.startswith(text) for text in self.own_tokens):
            return True
        # Some templates frame messages in plain words, which a prompt may contain by chance.
        is_framed = prompt.startswith(self.opening) and prompt.rstrip().endswith(self.closing)
        return bool(self.opening and self.closing) and is_framed

    def own_token_in(self, text: str) -> str | None:
        """One of the template's own tokens in a text."""
        if not self.has_template or not self.own_tokens:
            return None
        longest_first = sorted(self.own_tokens, key=len, reverse=True)
        found = re.search("|".join(map(re.escape, longest_first)), text)
        return found and found[0]

    def foreign_token_in(self, text: str) -> str | None:
        """Another model's special token, which this tokenizer splits into ordinary tokens."""
        markers = (each for each in MARKERS.findall(text) if each not in self.added)
        return next((each for each in markers if each not in self.template_text), None)


def markup_of(tokenizer: Any) -> Markup:
    markup: Markup | None = getattr(tokenizer, "kit_markup", None)
    if markup is None:
        markup = tokenizer.kit_markup = read_markup(tokenizer)
    return markup


def read_markup(tokenizer: Any) -> Markup:
    has_template = tokenizer.chat_template is not None
    rendered = [try_render(messages, tokenizer) for messages in CONVERSATIONS if has_template]
    template_text = "".join(rendered)
    tokens = tokenizer.added_tokens_decoder.values()
    special = [t.content for t in tokens if t.special and t.content in template_text]
    bos = tokenizer.bos_token or ""
    stop_texts = [tokenizer.convert_ids_to_tokens(token) for token in stop_tokens_of(tokenizer)]
    before, _, after = (
        try_render([QUESTION], tokenizer).partition(QUESTION_TEXT) if has_template else [""] * 3
    )
    return Markup(
        has_template,
        template_text,
        [text for text in dict.fromkeys([bos, *stop_texts, *special]) if text],
        before.removeprefix(bos).strip(),
        after.strip(),
        {token.content for token in tokens},
    )


def try_render(messages: list[dict[str, str]], tokenizer: Any) -> str:
    try:
        with TEMPLATES.limit():
            return str(
                tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            )
    except Exception:  # noqa: BLE001
        # Some templates refuse a system message.
        return ""
