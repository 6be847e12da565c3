"""Examples as flat arrays: Python lists of a hundred million numbers would not fit in memory."""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .masks import Tokens

# A sequence's tokens, and which of them are learned.
Arrays = tuple[npt.NDArray[np.intc], npt.NDArray[np.bool_]]


@dataclass
class Examples:
    ids: array = field(default_factory=lambda: array("i"))
    learned: bytearray = field(default_factory=bytearray)
    # For each sequence.
    starts: array = field(default_factory=lambda: array("q"))
    lengths: array = field(default_factory=lambda: array("i"))
    # For each example: its first sequence, and the index of its row.
    offsets: array = field(default_factory=lambda: array("q"))
    rows: array = field(default_factory=lambda: array("q"))
    # Examples with an undesirable answer.
    undesirable: set[int] = field(default_factory=set)
    row_count: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: int) -> list[Tokens]:
        return [self._tokens(self._slice(sequence)) for sequence in self._sequences(index)]

    def arrays(self, index: int) -> list[Arrays]:
        """An example's sequences, as views."""
        ids, learned = np.frombuffer(self.ids, np.intc), np.frombuffer(self.learned, np.bool_)
        slices = [self._slice(sequence) for sequence in self._sequences(index)]
        return [(ids[part], learned[part]) for part in slices]

    def lengths_of(self, index: int) -> list[int]:
        """Tokens of each sequence of an example."""
        return [self.lengths[sequence] for sequence in self._sequences(index)]

    def add_truncated(
        self, sequences: list[Tokens], limit: int, is_undesirable: bool = False
    ) -> None:
        """Adds a row's example, with its sequences truncated."""
        if is_undesirable:
            self.undesirable.add(len(self))
        self._begin()
        for tokens in sequences:
            start = self._append(Tokens(tokens.ids[:limit], tokens.learned[:limit]))
            self._add(start, len(self.ids) - start)
        self.row_count += 1

    def add_chunks(self, tokens: Tokens, limit: int) -> None:
        """Splits a row's only sequence into examples, which overlap by one token."""
        first = self._append(tokens)
        end = len(self.ids)
        for start in range(first, end - 1, limit - 1):
            self._begin()
            self._add(start, min(limit, end - start))
        self.row_count += 1

    def fingerprint(self) -> str:
        """Changes with any token, its order, what is learned, and which answers are undesirable."""
        undesirable = memoryview(array("q", sorted(self.undesirable)))
        return digest_of(memoryview(self.ids), self.learned, memoryview(self.lengths), undesirable)

    def _append(self, tokens: Tokens) -> int:
        start = len(self.ids)
        self.ids.extend(tokens.ids)
        self.learned.extend(tokens.learned)
        return start

    def _begin(self) -> None:
        """Starts a new example."""
        self.offsets.append(len(self.starts))
        self.rows.append(self.row_count)

    def _add(self, start: int, length: int) -> None:
        self.starts.append(start)
        self.lengths.append(length)

    def _sequences(self, index: int) -> range:
        is_last = index + 1 == len(self.offsets)
        return range(
            self.offsets[index],
            len(self.starts) if is_last else self.offsets[index + 1],
        )

    def _slice(self, sequence: int) -> slice:
        start = self.starts[sequence]
        return slice(start, start + self.lengths[sequence])

    def _tokens(self, part: slice) -> Tokens:
        learned = [bool(is_learned) for is_learned in self.learned[part]]
        # The first token is never predicted.
        learned[0] = False
        return Tokens(list(self.ids[part]), learned)


def digest_of(*parts: memoryview | bytes | bytearray) -> str:
    """16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


@dataclass
class ExampleSet:
    """A subset of the examples, by index."""

    examples: Examples
    indices: Sequence[int]
    # Number of rows.
    rows: int

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> list[Tokens]:
        return self.examples[self.indices[index]]

    def arrays(self, index: int) -> list[Arrays]:
        return self.examples.arrays(self.indices[index])

    def is_undesirable(self, index: int) -> bool:
        return self.indices[index] in self.examples.undesirable

    def row_at(self, index: int) -> int:
        """The index of an example's row."""
        return self.examples.rows[self.indices[index]]

    def largest(self) -> int:
        """Tokens of the largest example, its sequences padded to the longest."""
        lengths = (self.examples.lengths_of(i) for i in self.indices)
        return max(len(sequences) * max(sequences) for sequences in lengths)

    def predicted(self) -> int:
        """Predicted tokens: all but each sequence's first."""
        return sum(length - 1 for i in self.indices for length in self.examples.lengths_of(i))
