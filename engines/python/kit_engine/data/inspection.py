"""Statistics of a dataset, as in engines/training/inspection.ts."""

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from typing import Any

from ..process.constants import CONSTANTS
from .chat import refuse
from .masks import Tokens
from .rows import Row

# Answers count as labels if there are few distinct ones, each frequent enough on average.
MAX_KINDS = CONSTANTS["maxAnswerKinds"]
MIN_PER_KIND = CONSTANTS["minPerAnswerKind"]
OPENING = re.compile(r"\s*[{[]")


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
        self.kept: list[str] = []
        self.duplicates, self.leaked = RepeatedRows(), RepeatedRows()
        self.has_held_out = False
        self.kinds: Counter[str] = Counter()
        self.answers = self.objects = 0
        self.broken: list[str] = []

    def add(self, row: Row, sequences: list[Tokens], is_skipped: bool) -> None:
        digest = digest_of(sequences, row.is_undesirable)
        before = self.first_seen.setdefault(digest, row.where)
        if before != row.where:
            self.duplicates.add(before, row.where)
        if not is_skipped:
            self.kept.append(row.where)
        self.formats[f"{{{row.keys}}}"] += 1
        self.lengths.append(max(len(one.ids) for one in sequences))
        for text in row.answers():
            self._add_answer(text, row.where)

    def add_held_out(self, row: Row, sequences: list[Tokens], _is_skipped: bool) -> None:
        self.has_held_out = True
        before = self.first_seen.get(digest_of(sequences, row.is_undesirable))
        if before is not None:
            self.leaked.add(before, row.where)

    def report(self) -> dict[str, Any]:
        lengths = sorted(self.lengths)

        def at(share: float) -> int:
            return lengths[math.ceil(share * len(lengths)) - 1]

        tokens = {"least": lengths[0], "median": at(0.5), "p95": at(0.95), "most": lengths[-1]}
        found: dict[str, Any] = {
            "forms": dict(self.formats),
            "tokens": tokens,
            "duplicates": self.duplicates.report(),
        }
        if self.has_held_out:
            found["leaked"] = self.leaked.report()
        if len(self.kinds) <= MAX_KINDS and self.answers >= MIN_PER_KIND * len(self.kinds):
            counts = self.kinds.most_common()
            found["answers"] = [{"text": text, "count": count} for text, count in counts]
        # A few plain texts may begin with a bracket.
        if self.objects * 2 > self.answers:
            first = {"first": self.broken[0]} if self.broken else {}
            found["json"] = {"answers": self.objects, "broken": len(self.broken), **first}
        return found

    def _add_answer(self, text: str, where: str) -> None:
        self.answers += 1
        if len(self.kinds) <= MAX_KINDS:
            self.kinds[text] += 1
        if not OPENING.match(text):
            return
        self.objects += 1
        try:
            json.loads(text, parse_constant=refuse)
        except (ValueError, RecursionError):
            self.broken.append(where)


def digest_of(sequences: list[Tokens], is_undesirable: bool) -> bytes:
    digest = hashlib.sha1(bytes([is_undesirable]), usedforsecurity=False)
    for one in sequences:
        digest.update(array("i", one.ids))
        digest.update(bytes(one.learned))
    return digest.digest()
