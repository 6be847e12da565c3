"""The rows to train and evaluate on."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..process.errors import KitError
from ..process.workers import assert_same
from .examples import Examples, ExampleSet, digest_of
from .inspection import Inspection
from .masks import Tokens
from .objective import Objective
from .order import held_out_rows
from .plain_rows import describe_formats
from .row_notes import RowNotes
from .rows import Row, read_rows

NOTE_EVERY_SECONDS = 10.0


@dataclass
class Dataset:
    examples: Examples = field(default_factory=Examples)
    # Rows read, and plain texts among them.
    read: int = 0
    texts: int = 0
    # Rows truncated, and rows skipped since the prompt leaves no room for an answer.
    truncated: int = 0
    skipped: int = 0
    # Tokens of the longest skipped row, and of the longest row.
    longest_skipped: int = 0
    longest: int = 0
    formats: set[str] = field(default_factory=set)

    def all(self) -> ExampleSet:
        return ExampleSet(self.examples, range(len(self.examples)), self.examples.row_count)


@dataclass
class TrainingData:
    dataset: Dataset
    # Of the whole dataset, including held-out rows.
    fingerprint: str
    training: ExampleSet
    evaluation: ExampleSet | None
    # Fields of `training.started` on the evaluation's rows.
    evaluated: dict[str, Any]


# Takes each row, its sequences, and whether it is skipped.
OnRow = Callable[[Row, list[Tokens], bool], None]


def read_training_data(
    job: dict[str, Any],
    objective: Objective,
    tokenizer: Any,
    max_length: int,
    note: Callable[[str], None],
    inspection: Inspection | None = None,
) -> TrainingData:
    """
    :raises KitError: for rows that can't be read or learned, or differ from other workers' rows
    """
    data = read_all(job, objective, tokenizer, max_length, note, inspection)
    assert_same(data.fingerprint, data.evaluated.get("evalFingerprint", data.fingerprint))
    return data


def read_all(
    job: dict[str, Any],
    objective: Objective,
    tokenizer: Any,
    max_length: int,
    note: Callable[[str], None],
    inspection: Inspection | None,
) -> TrainingData:
    config = job["config"]
    arguments = objective, tokenizer, max_length, note
    on_row = inspection and inspection.add
    dataset = read_dataset(job["files"], config["dataset"], *arguments, on_row)
    fingerprint = dataset.examples.fingerprint()
    if job.get("evalFiles") is not None:
        on_row = inspection and inspection.add_held_out
        held_out = read_dataset(job["evalFiles"], config.get("evalDataset"), *arguments, on_row)
        evaluated = {
            "evalRows": held_out.examples.row_count,
            "evalCut": held_out.truncated,
            "evalLeftOut": held_out.skipped,
            "evalFingerprint": held_out.examples.fingerprint(),
        }
        return TrainingData(dataset, fingerprint, dataset.all(), held_out.all(), evaluated)
    if config.get("evalSplit") is None:
        return TrainingData(dataset, fingerprint, dataset.all(), None, {})
    is_held_out = held_out_rows(dataset.examples.row_count, config.get("evalSplit"), config["seed"])
    training, evaluation = subset(dataset, is_held_out, False), subset(dataset, is_held_out, True)
    digest = digest_of(fingerprint.encode(), bytes(is_held_out))
    evaluated = {"evalRows": evaluation.rows, "evalFingerprint": digest}
    return TrainingData(dataset, fingerprint, training, evaluation, evaluated)


def read_dataset(
    files: list[str],
    dataset_config: dict[str, Any],
    objective: Objective,
    tokenizer: Any,
    max_length: int,
    note: Callable[[str], None],
    on_row: OnRow | None,
) -> Dataset:
    dataset, row_notes = Dataset(), RowNotes(tokenizer)
    last_note = time.monotonic()
    for row in read_rows(files, objective.formats):
        sequences = sequences_of(row, objective, tokenizer)
        # Truncated rows are counted and reported separately.
        whole = [tokens for tokens in sequences if len(tokens.ids) <= max_length]
        row_notes.add(row, [] if row.is_text else whole)
        is_kept = add_row(dataset, row, sequences, objective, max_length)
        if on_row is not None:
            on_row(row, sequences, not is_kept)
        dataset.formats.add(f"{{{row.keys}}}")
        if time.monotonic() - last_note > NOTE_EVERY_SECONDS:
            last_note = time.monotonic()
            note(f"tokenizing the dataset: {dataset.read:,} rows")
    path = dataset_config["path"]
    name = path if isinstance(path, str) else ", ".join(path)
    if dataset.read == 0:
        raise KitError(
            "DATASET_INVALID",
            f"{name} has no rows. Write {describe_formats(objective.formats)} on each line.",
        )
    if len(dataset.examples) == 0:
        raise KitError(
            "DATASET_INVALID",
            f"No row of {name} can be trained on within {max_length} tokens. "
            "Shorten the prompts or raise maxLength.",
        )
    for text in row_notes.notes():
        note(text)
    return dataset


def sequences_of(row: Row, objective: Objective, tokenizer: Any) -> list[Tokens]:
    """:raises KitError: with the row's location in the message"""
    try:
        return objective.sequences_of(row, tokenizer)
    except KitError as error:
        if error.code != "DATASET_INVALID":
            raise
        raise KitError(error.code, f"{row.where}: {error}") from error


def add_row(
    dataset: Dataset,
    row: Row,
    sequences: list[Tokens],
    objective: Objective,
    max_length: int,
) -> bool:
    """Adds a row, and returns whether it is trained on."""
    length = max(len(tokens.ids) for tokens in sequences)
    dataset.read += 1
    dataset.longest = max(dataset.longest, length)
    if row.is_text:
        dataset.texts += 1
        for tokens in sequences:
            dataset.examples.add_chunks(tokens, max_length)
        return True
    learnable = [tokens for tokens in sequences if True in tokens.learned[1:max_length]]
    if objective.needs_all:
        is_skipped = len(learnable) < len(sequences) or are_equal(learnable, max_length)
    else:
        is_skipped = not learnable
    if is_skipped:
        dataset.skipped += 1
        dataset.longest_skipped = max(dataset.longest_skipped, length)
        return False
    dataset.truncated += length > max_length
    dataset.examples.add_truncated(learnable, max_length, row.is_undesirable)
    return True


def are_equal(sequences: list[Tokens], limit: int) -> bool:
    """Whether the sequences are identical up to the limit."""
    first, *others = [tokens.ids[:limit] for tokens in sequences]
    return all(other == first for other in others)


def subset(dataset: Dataset, is_held_out: list[bool], held_out: bool) -> ExampleSet:
    examples = dataset.examples
    chosen = [i for i, row in enumerate(examples.rows) if is_held_out[row] == held_out]
    return ExampleSet(examples, chosen, is_held_out.count(held_out))
