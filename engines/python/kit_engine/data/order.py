"""The order of rows and the held-out rows, the same on every engine for the same seed."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..process.errors import KitError

# Numbers drawn at once.
CHUNK = 4096


def hash_of(text: str) -> int:
    """FNV-1a, 32 bits."""
    state = 0x811C9DC5
    for character in text:
        state = ((state ^ ord(character)) * 0x01000193) & 0xFFFFFFFF
    return state


def uniforms(seed: int, stream: str, start: int, count: int) -> npt.NDArray[np.float64]:
    """`count` numbers in [0, 1) from position `start` of a stream's Mulberry32 sequence."""
    first = np.uint64(hash_of(f"{seed}/{stream}"))
    step = np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x6D2B79F5)
    state = (first + step).astype(np.uint32)
    bits = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    bits ^= bits + (bits ^ (bits >> np.uint32(7))) * (bits | np.uint32(61))
    return (bits ^ (bits >> np.uint32(14))) / 2.0**32


def endless(seed: int, stream: str) -> Iterator[float]:
    start = 0
    while True:
        yield from uniforms(seed, stream, start, CHUNK).tolist()
        start += CHUNK


class RowOrder:
    """The rows of all epochs, reshuffled for each; must be indexed in ascending order."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.random = endless(seed, "order")
        self.rows = list(range(count))
        self.shuffled = 0

    def __getitem__(self, position: int) -> int:
        """The row at a position, counted from 0 over all epochs."""
        while self.shuffled <= position // self.count:
            self._shuffle()
        return self.rows[position % self.count]

    def _shuffle(self) -> None:
        rows = self.rows
        for i in range(self.count - 1, 0, -1):
            j = int(next(self.random) * (i + 1))
            rows[i], rows[j] = rows[j], rows[i]
        self.shuffled += 1


def held_out_rows(rows: int, share: float, seed: int) -> list[bool]:
    """Whether each row is held out for evaluation."""
    if rows < 2:
        raise KitError(
            "DATASET_INVALID",
            "The dataset has a single row with something to learn, and evalSplit needs two. "
            "Add rows, or remove evalSplit.",
        )
    random = endless(seed, "held out")
    # JavaScript rounds a half up.
    remaining = min(rows - 1, max(1, int(np.floor(share * rows + 0.5))))
    is_held_out = [False] * rows
    for row in range(rows):
        if next(random) * (rows - row) >= remaining:
            continue
        is_held_out[row] = True
        remaining -= 1
    return is_held_out
