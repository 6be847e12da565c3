"""Statistics of a dataset, as in engines/training/inspection.ts."""

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from typing import Any

from ..process.constants import CONSTANTS
from .chat import refuse_constant
from .masks import Tokens
from .rows import Row

# Answers are listed as labels if few are distinct, and each occurs often enough on average.
MAX_LABELS = CONSTANTS["maxAnswerKinds"]
MIN_PER_LABEL = CONSTANTS["minPerAnswerKind"]
JSON_START = re.compile(r"\s*[{[]")


class RepeatedRows:
    """Counts repeated rows, and keeps the first pair."""

    def __init__(self) -> None:
        self.rows = 0
        self.first: list[str] | None = None

    def add(self, before: str, where: str) -> None:
        self.rows += 1
        self.first = self.first or [before, where]

    def report(self) -> dict[str, Any]:
        return {"rows": self.rows, **({"first": self.first} if self.first else {})}


class Inspection:
    def __init__(self) -> None:
        self.formats: Counter[str] = Counter()
        self.lengths = array("q")
        # Location of each distinct row, by digest; and locations of the rows trained on.
        self.first_seen: dict[bytes, str] = {}
        self.trained: list[str] = []
        self.duplicates, self.leaked = RepeatedRows(), RepeatedRows()
        self.has_held_out = False
        self.answer_counts: Counter[str] = Counter()
        self.answers = self.json_answers = 0
        self.invalid_json: list[str] = []

    def add(self, row: Row, sequences: list[Tokens], is_skipped: bool) -> None:
        digest = digest_of(sequences, row.is_undesirable)
        before = self.first_seen.setdefault(digest, row.where)
        if before != row.where:
            self.duplicates.add(before, row.where)
        if not is_skipped:
            self.trained.append(row.where)
        self.formats[f"{{{row.keys}}}"] += 1
        self.lengths.append(max(len(tokens.ids) for tokens in sequences))
        for text in row.answers():
            self._add_answer(text, row.where)

    def add_held_out(self, row: Row, sequences: list[Tokens], _is_skipped: bool) -> None:
        self.has_held_out = True
        before = self.first_seen.get(digest_of(sequences, row.is_undesirable))
        if before is not None:
            self.leaked.add(before, row.where)

    def report(self) -> dict[str, Any]:
        lengths = sorted(self.lengths)

        def quantile(share: float) -> int:
            return lengths[math.ceil(share * len(lengths)) - 1]

        median, p95 = quantile(0.5), quantile(0.95)
        tokens = {"least": lengths[0], "median": median, "p95": p95, "most": lengths[-1]}
        found: dict[str, Any] = {
            "forms": dict(self.formats),
            "tokens": tokens,
            "duplicates": self.duplicates.report(),
        }
        if self.has_held_out:
            found["leaked"] = self.leaked.report()
        labels = len(self.answer_counts)
        if labels <= MAX_LABELS and self.answers >= MIN_PER_LABEL * labels:
            counts = self.answer_counts.most_common()
            found["answers"] = [{"text": text, "count": count} for text, count in counts]
        # Some answers in plain text may begin with a bracket, so most must.
        if self.json_answers * 2 > self.answers:
            first = {"first": self.invalid_json[0]} if self.invalid_json else {}
            broken = len(self.invalid_json)
            found["json"] = {"answers": self.json_answers, "broken": broken, **first}
        return found

    def _add_answer(self, text: str, where: str) -> None:
        self.answers += 1
        if len(self.answer_counts) <= MAX_LABELS:
            self.answer_counts[text] += 1
        if not JSON_START.match(text):
            return
        self.json_answers += 1
        try:
            json.loads(text, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            self.invalid_json.append(where)


def digest_of(sequences: list[Tokens], is_undesirable: bool) -> bytes:
    digest = hashlib.sha1(bytes([is_undesirable]), usedforsecurity=False)
    for tokens in sequences:
        digest.update(array("i", tokens.ids))
        digest.update(bytes(tokens.learned))
    return digest.digest()
