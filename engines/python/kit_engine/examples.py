"""Sequences to learn from, as flat numbers, because lists of a hundred million would not fit."""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .masks import Tokens


@dataclass
class Examples:
    ids: array = field(default_factory=lambda: array("i"))
    learned: bytearray = field(default_factory=bytearray)
    starts: array = field(default_factory=lambda: array("q"))
    lengths: array = field(default_factory=lambda: array("i"))
    # Each example's row, counted from 0 as they were added.
    rows: array = field(default_factory=lambda: array("q"))
    row_count: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> Tokens:
        start = self.starts[index]
        end = start + self.lengths[index]
        learned = [bool(one) for one in self.learned[start:end]]
        # Nothing comes before the first.
        learned[0] = False
        return Tokens(list(self.ids[start:end]), learned)

    def arrays(self, index: int) -> tuple[npt.NDArray[np.intc], npt.NDArray[np.bool_]]:
        """An example's tokens, and which of them are learned, without a copy."""
        part = slice(self.starts[index], self.starts[index] + self.lengths[index])
        return np.frombuffer(self.ids, np.intc)[part], np.frombuffer(self.learned, np.bool_)[part]

    def add_start(self, tokens: Tokens, most: int) -> None:
        """Adds the first tokens of a sequence."""
        start = self._append(Tokens(tokens.ids[:most], tokens.learned[:most]))
        self._add(start, len(self.ids) - start)
        self.row_count += 1

    def add_pieces(self, tokens: Tokens, most: int) -> None:
        """Adds a sequence in pieces, each beginning with the last token of the one before."""
        first = self._append(tokens)
        end = len(self.ids)
        for start in range(first, end - 1, most - 1):
            self._add(start, min(most, end - start))
        self.row_count += 1

    def fingerprint(self) -> str:
        """Changes with any token, its order, and what is learned."""
        return digest_of(memoryview(self.ids), self.learned, memoryview(self.lengths))

    def _append(self, tokens: Tokens) -> int:
        start = len(self.ids)
        self.ids.extend(tokens.ids)
        self.learned.extend(tokens.learned)
        return start

    def _add(self, start: int, length: int) -> None:
        self.starts.append(start)
        self.lengths.append(length)
        self.rows.append(self.row_count)


def digest_of(*parts: memoryview | bytes | bytearray) -> str:
    """16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


@dataclass
class ExampleSet:
    """Some of the examples, by their numbers."""

    examples: Examples
    chosen: Sequence[int]
    # Rows that they come from, a count.
    rows: int

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, index: int) -> Tokens:
        return self.examples[self.chosen[index]]

    def arrays(self, index: int) -> tuple[npt.NDArray[np.intc], npt.NDArray[np.bool_]]:
        return self.examples.arrays(self.chosen[index])

    def longest(self) -> int:
        return max(self.examples.lengths[i] for i in self.chosen)

    def predicted(self) -> int:
        """Tokens of all, without each one's first, which is never predicted."""
        return sum(self.examples.lengths[i] - 1 for i in self.chosen)
