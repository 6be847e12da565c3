"""Datasets in Kit's order for transformers' Trainer, and a collator."""

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ..data.examples import Arrays, ExampleSet
from ..data.order import RowOrder

IGNORED = -100

# The sequences of an example.
Example = list[Arrays]


class OrderedRows(Dataset[Example]):
    """The rows of all steps, in training order; rows repeat across epochs."""

    def __init__(self, examples: ExampleSet, seed: int, length: int) -> None:
        self.examples = examples
        self.order = RowOrder(len(examples), seed)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Example:
        return self.examples.arrays(self.order[index])


class AllRows(Dataset[Example]):
    """All rows once, in dataset order."""

    def __init__(self, examples: ExampleSet) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Example:
        return self.examples.arrays(index)


class Collator:
    """Stacks the examples' sequences, padded to the longest. Doesn't loop over tokens, because the
    GPU would wait."""

    def __init__(self, pad: int | None) -> None:
        self.pad = pad

    def __call__(self, examples: list[Example]) -> dict[str, torch.Tensor]:
        rows = [sequence for example in examples for sequence in example]
        inputs, attention_mask, learned = padded(rows, self.pad)
        labels = np.where(learned, inputs, IGNORED)
        batch = {"input_ids": inputs, "attention_mask": attention_mask, "labels": labels}
        return {name: torch.from_numpy(numbers) for name, numbers in batch.items()}


Numbers = npt.NDArray[np.int64]


def padded(rows: list[Arrays], pad: int | None) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
    """:return: input ids, attention mask and whether tokens are learned, each [rows, longest]"""
    shape = len(rows), max(len(ids) for ids, _ in rows)
    inputs = np.full(shape, pad or 0, np.int64)
    attention_mask = np.zeros(shape, np.int64)
    learned = np.zeros(shape, np.bool_)
    for i, (ids, is_learned) in enumerate(rows):
        inputs[i, : len(ids)] = ids
        attention_mask[i, : len(ids)] = 1
        learned[i, : len(ids)] = is_learned
    # The first token is never predicted.
    learned[:, 0] = False
    return inputs, attention_mask, learned


def predicted_count(batch: dict[str, torch.Tensor]) -> int:
    """Predicted tokens of a batch: without padding and each row's first token."""
    mask = batch["attention_mask"]
    return int(mask.sum()) - len(mask)
