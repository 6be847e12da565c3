"""Notes on a dataset's rows as a whole, as in engines/training/rowNotes.ts."""

import json
from collections.abc import Iterable
from typing import Any

from ..model.stop_tokens import stop_tokens_of
from ..process.limits import decode
from .dropped_parts import DroppedParts, name_of, parts_of
from .markup import markup_of
from .masks import Tokens, ends_with_stop_token, rendered_prompt
from .rows import Row

# Number of an answer's last tokens shown.
SHOWN = 12


class RowNotes:
    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.markup = markup_of(tokenizer)
        self.is_dropped = DroppedParts(tokenizer)
        self.rows = 0
        # For each kind of note: number of rows, the first token concerned, and its location.
        self.found: dict[str, list[Any]] = {}

    def add(self, row: Row, whole: Iterable[Tokens]) -> None:
        """
        :param whole: the sequences that aren't truncated
        """
        self.rows += 1
        where, conversations = row.where, row.conversations
        self._add_unended(whole, where)
        self._add_dropped(row)
        texts = texts_of(row)
        foreign = (self.markup.foreign_token_in(text) for text, _ in texts)
        self._count("foreign", next(filter(None, foreign), None), where)
        if row.keys.startswith("prompt") and rendered_prompt(conversations[0], self.tokenizer):
            return self._count("rendered", "", where)
        if not conversations:
            return None
        own = (
            # An answer may spell out its stop token.
            (token, is_answer and text.rstrip().endswith(token or ""))
            for text, is_answer in texts
            for token in [self.markup.own_token_in(text)]
        )
        inside = (token for token, is_end in own if not is_end)
        return self._count("own", next(filter(None, inside), None), where)

    def notes(self) -> list[str]:
        notes = []
        if "rendered" in self.found:
            notes.append(
                f"the prompts of {self._share('rendered')} are already rendered by a chat "
                "template: they are read as they are, without the model's own\n"
                f"  the first is {self.found['rendered'][2]}"
            )
        if "own" in self.found:
            _, token, where = self.found["own"]
            notes.append(
                f"warning: {self._share('own')} have a special token of the model inside a "
                "message, although the chat template adds these itself\n"
                f"  the first is {token} in {where}\n"
                '  remove it, or write what it separates as "messages"; a rendered prompt is read '
                "as it is if it begins as the template does"
            )
        if "foreign" in self.found:
            _, token, where = self.found["foreign"]
            notes.append(
                f"warning: {self._share('foreign')} have a special token of another model's chat "
                "template, which this model reads as plain text\n"
                f"  the first is {token} in {where}\n"
                '  write the rows as "messages", which the model\'s own template renders'
            )
        for kind, (_, part, where) in self.found.items():
            if kind.startswith("dropped_parts "):
                notes.append(
                    f"warning: the model's chat template leaves out {name_of(part)} in "
                    f"{self._share(kind)}\n"
                    f"  the first is {where}\n  {self.is_dropped.advice(part)}"
                )
        if "unended" in self.found:
            _, last, where = self.found["unended"]
            notes.append(
                f"warning: the answers of {self._share('unended')} have no token that ends them, "
                "so the model may not learn to stop\n"
                f"  the first is {where}, which ends with {last}\n  {self._stop_token_advice()}"
            )
        return notes

    def _add_unended(self, whole: Iterable[Tokens], where: str) -> None:
        for tokens in whole:
            for begin, end in learned_ranges(tokens.learned):
                if not ends_with_stop_token(tokens.ids[begin:end], self.tokenizer):
                    last = decode(tokens.ids[begin:end][-SHOWN:], self.tokenizer)
                    return self._count("unended", json.dumps(last, ensure_ascii=False), where)
        return None

    def _add_dropped(self, row: Row) -> None:
        parts = (
            part for conversation in row.conversations for part in parts_of(conversation.messages)
        )
        for part in dict.fromkeys(parts):
            if self.is_dropped(part):
                self._count(f"dropped_parts {part}", part, row.where)

    def _stop_token_advice(self) -> str:
        stop_ids = stop_tokens_of(self.tokenizer)
        if not stop_ids:
            return (
                "set eos_token to the token that ends an answer in the model's "
                "tokenizer_config.json"
            )
        end = decode(stop_ids[:1], self.tokenizer)
        return f"let the model's chat template write {end} after an assistant's message"

    def _count(self, kind: str, token: str | None, where: str) -> None:
        if token is not None:
            self.found.setdefault(kind, [0, token, where])[0] += 1

    def _share(self, kind: str) -> str:
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        return f"{self.found[kind][0]:,} of {rows}"


def learned_ranges(learned: list[bool]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for i, is_learned in enumerate(learned):
        if is_learned and ranges and ranges[-1][1] == i:
            ranges[-1] = (ranges[-1][0], i + 1)
        elif is_learned:
            ranges.append((i, i + 1))
    return ranges


def texts_of(row: Row) -> list[tuple[str, bool]]:
    """The texts of a row, and whether each is an answer."""
    if row.is_text:
        return [(row.text, False)]
    return [
        (message["content"] or "", message["role"] == "assistant")
        for conversation in row.conversations
        for message in conversation.messages
    ]
