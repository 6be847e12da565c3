"""Adapts TRL's trainers to Kit's rows and metrics.

Replaces TRL's own batches: they learn everything after the prompt, while Kit's masks end with the
answer; and they copy all tokens for each epoch.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import numpy as np
import torch
from torch.utils.data import DataLoader

from ..data.examples import ExampleSet
from ..data.order import RowOrder
from ..process.means import Mean, add_means, values_of
from .batches import Example, padded
from .callback import KitCallback
from .preparation import Preparation
from .schedule import rows_per_step
from .trainer import KitTrainer, arguments_of

# TRL's metric names to Kit's.
METRICS = {
    "rewards/chosen": "rewardsChosen",
    "rewards/rejected": "rewardsRejected",
    "rewards/margins": "rewardsMargins",
    "rewards/accuracies": "rewardsAccuracies",
    "kl": "kl",
}


class PreferenceTrainer(KitTrainer):
    """Must precede TRL's trainer among the base classes."""

    # Columns of TRL's batches for the results of `compute_ref_log_probs`.
    reference_columns: Sequence[str]

    def __init__(
        self,
        model: Any,
        prepared: Preparation,
        kit: KitCallback,
        directory: str,
        initial_step: int,
        args_type: Any,
        **objective_args: Any,
    ) -> None:
        data, config = prepared.data, prepared.config
        # Metrics of the current evaluation.
        self.evaluated: dict[str, Mean] = {}
        self.sets = {False: data.training, True: data.evaluation}
        order = RowOrder(len(data.training), config["seed"])
        positions = range(prepared.steps * rows_per_step(config))
        trl_args = {
            # Full fine-tuning would need a second model in memory; an adapter can be disabled.
            "precompute_ref_log_probs": not config.get("lora"),
            "beta": config["objective"]["beta"],
            "max_length": None,
            **objective_args,
        }
        evaluation = data.evaluation
        super().__init__(
            *(model, prepared, kit, directory, initial_step),
            args=arguments_of(prepared, directory, args_type, **trl_args),
            train_dataset=trl_dataset([order[position] for position in positions], False),
            eval_dataset=trl_dataset(range(len(evaluation)), True) if evaluation else None,
            data_collator=self.collate,
        )
        if config.get("lora"):
            # TRL's copy of the new adapter, which it would use as the reference, and save.
            self.model.delete_adapter("ref")

    def batch_of(
        self, examples: list[Example], is_desirable: list[bool]
    ) -> dict[str, torch.Tensor]:
        """A batch in the format of TRL's collator."""
        raise NotImplementedError

    def weight_of(self, batch: dict[str, torch.Tensor]) -> int:
        """The batch's weight in a mean over batches; an evaluation's last batch may be smaller."""
        raise NotImplementedError

    def collate(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        positions = [(self.set_of(row), row["example"]) for row in rows]
        examples = [examples.arrays(position) for examples, position in positions]
        is_desirable = [not examples.is_undesirable(position) for examples, position in positions]
        names = [name for name in self.reference_columns if name in rows[0]]
        references = {name: torch.tensor([row[name] for row in rows]) for name in names}
        return {**self.batch_of(examples, is_desirable), **references}

    def set_of(self, row: dict[str, Any]) -> ExampleSet:
        examples = self.sets[row["is_held_out"]]
        assert examples is not None
        return examples

    def padded(self, sequences: Example, prefix: str = "") -> dict[str, torch.Tensor]:
        ids, attention_mask, learned = padded(sequences, self.prepared.tokenizer.pad_token_id)
        return {
            f"{prefix}input_ids": torch.from_numpy(ids),
            f"{prefix}attention_mask": torch.from_numpy(attention_mask),
            f"{prefix}completion_mask": torch.from_numpy(learned.astype(np.int64)),
        }

    def _prepare_dataset(self, dataset: datasets.Dataset, *_: Any) -> datasets.Dataset:
        return dataset

    def _precompute_ref_logps(
        self, dataset: datasets.Dataset, name: str, batch_size: int
    ) -> datasets.Dataset:
        """Computes them in memory. TRL would leave files behind, and ignore a cancellation."""
        loader = DataLoader(dataset, batch_size=batch_size, collate_fn=self.collate)
        results = []
        for batch in self.accelerator.prepare(loader):
            self.kit.stop_if_cancelled()
            logprobs = self.compute_ref_log_probs(self.model, batch)
            results.append(self.accelerator.gather_for_metrics(logprobs))
        for column, parts in zip(self.reference_columns, zip(*results, strict=True), strict=True):
            dataset = dataset.add_column(column, torch.cat(parts).cpu().numpy())
        return dataset

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        loss = super().compute_loss(model, inputs, *args, **kwargs)
        mode, means = (
            ("train", self.kit.metrics) if self.model.training else ("eval", self.evaluated)
        )
        measured, weight = self._metrics[mode], self.weight_of(inputs)
        batch_means = {
            kit_name: Mean(sum(measured[name]) * weight, len(measured[name]) * weight)
            for name, kit_name in METRICS.items()
            if name in measured
        }
        add_means(means, batch_means)
        measured.clear()
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "eval_loss" in logs:
            logs = {**logs, "eval_metrics": values_of(self.evaluated)}
            self.evaluated = {}
        super().log(logs, start_time)


def trl_dataset(examples: Sequence[int], is_held_out: bool) -> datasets.Dataset:
    """The dataset that TRL sees: the index of each example, in training order."""
    columns = {"example": np.array(examples, np.int64)}
    return datasets.Dataset.from_dict(
        {**columns, "is_held_out": np.full(len(examples), is_held_out)}
    )
