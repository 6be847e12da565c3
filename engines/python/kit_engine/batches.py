"""Rows for transformers' Trainer: a map in Kit's order already, and how rows become a batch."""

from typing import Any

import torch
from torch.utils.data import Dataset

from .examples import ExampleSet
from .masks import Tokens
from .order import RowOrder

IGNORED = -100


class OrderedRows(Dataset[Tokens]):
    """Every row of the training, in the order in which it is learned from."""

    def __init__(self, examples: ExampleSet, seed: int, length: int) -> None:
        self.examples = examples
        self.order = RowOrder(len(examples), seed)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> Tokens:
        return self.examples[self.order[place]]


class AllRows(Dataset[Tokens]):
    """All rows once, in their order."""

    def __init__(self, examples: ExampleSet) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, place: int) -> Tokens:
        return self.examples[place]


class Collator:
    """Pads rows to the longest of the batch."""

    def __init__(self, pad: int | None) -> None:
        self.pad = 0 if pad is None else pad

    def __call__(self, rows: list[Tokens]) -> dict[str, torch.Tensor]:
        longest = max(len(row.ids) for row in rows)

        def padded(of: Any, fill: int) -> torch.Tensor:
            return torch.tensor([[*of(row), *[fill] * (longest - len(row.ids))] for row in rows])

        return {
            "input_ids": padded(lambda row: row.ids, self.pad),
            "attention_mask": padded(lambda row: [1] * len(row.ids), 0),
            "labels": padded(labels_of, IGNORED),
        }


def labels_of(row: Tokens) -> list[int]:
    return [
        one if is_learned else IGNORED for one, is_learned in zip(row.ids, row.learned, strict=True)
    ]


def predicted_count(batch: dict[str, torch.Tensor]) -> int:
    """Tokens of a batch without padding and without each row's first."""
    mask = batch["attention_mask"]
    return int(mask.sum()) - len(mask)
