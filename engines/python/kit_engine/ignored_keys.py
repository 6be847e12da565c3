"""Counts the keys that Kit doesn't read, as engines/dataset/ignoredKeys.ts does here."""

import json
from collections.abc import Sequence
from typing import Any

from .constants import CONSTANTS
from .learned_marks import says_learned
from .system import SYSTEM_KEYS


class IgnoredKeys:
    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.has_more = False

    def add(self, row: dict[str, Any], form: Sequence[str]) -> None:
        """Adds those of a checked row, by the keys of its form."""
        self.add_keys(row, [*form, *CONSTANTS["rowKeys"]], "row")
        for messages in (row.get(key) for key in form if key not in SYSTEM_KEYS):
            for message in messages if isinstance(messages, list) else []:
                self.add_keys(message, CONSTANTS["messageKeys"], "message")

    def add_keys(self, value: dict[str, Any], known: list[str], owner: str) -> None:
        for key, one in value.items():
            # Libraries write an optional key without a value as null.
            if one is None or key in known:
                continue
            if owner == "message" and is_heeded_mark(value, key):
                continue
            if (key, owner) in self.counts or len(self.counts) < CONSTANTS["mostNamedKeys"]:
                self.counts[key, owner] = self.counts.get((key, owner), 0) + 1
            else:
                self.has_more = True

    def note(self, dataset: str) -> str | None:
        """None without any."""
        if not self.counts:
            return None
        named = [
            f"{json.dumps(key, ensure_ascii=False)} of {count:,} {owner}{'s' * (count != 1)}"
            for (key, owner), count in self.counts.items()
        ]
        return f"ignoring keys in {dataset}: {', '.join(named)}{', and others' * self.has_more}"


def is_heeded_mark(message: dict[str, Any], key: str) -> bool:
    """What is not an answer is never learned, whatever its marks say."""
    learned = says_learned(key, message[key])
    return learned is False or (learned is True and message.get("role") == "assistant")
