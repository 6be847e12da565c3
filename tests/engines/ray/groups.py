"""What two workers of a group tell of each other."""

import json
import multiprocessing
import os
from typing import Any

import torch
from kit_engine.data.dataset import read_training_data
from kit_engine.process.errors import KitError
from kit_engine.train.objectives.sft import Sft
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from torch import distributed
from transformers import PreTrainedTokenizerFast


def of_two(work: Any, path: str) -> Any:
    """What one of the two has put into a queue."""
    fork = multiprocessing.get_context("fork")
    told = fork.Queue()
    for rank in range(2):
        fork.Process(target=work, args=(rank, path, told)).start()
    return told.get()


def join(path: str, rank: int) -> None:
    store = distributed.FileStore(path, 2)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)


def tell(told: Any, what: Any) -> None:
    told.put(what)
    told.close()
    told.join_thread()


def lose(rank: int, path: str, errors: Any) -> None:
    """Of two workers, the second one dies between two sums."""
    join(path, rank)
    distributed.all_reduce(torch.ones(1))
    if rank == 1:
        os._exit(1)
    try:
        distributed.all_reduce(torch.ones(1))
    except RuntimeError as error:
        tell(errors, str(error))
    os._exit(0)


def byte_tokenizer() -> Any:
    vocab = {one: i for i, one in enumerate(sorted(ByteLevel.alphabet()))}
    own = Tokenizer(BPE(vocab=vocab, merges=[]))
    own.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=own)


tokenizer = byte_tokenizer()


def read(rank: int, path: str, told: Any) -> None:
    """Of two workers, which read the same rows, then other ones, then other ones to evaluate on."""
    join(f"{path}/read", rank)
    own, shared = f"{path}/{rank}.jsonl", f"{path}/2.jsonl"
    for name, text in ((own, rank), (shared, 2)):
        with open(name, "w") as file:
            json.dump({"text": f"row {text}"}, file)
    distributed.barrier()
    ends = [end_of_reading(*files) for files in ((shared, shared), (own, shared), (shared, own))]
    if rank == 1:
        tell(told, ends)
    os._exit(0)


def end_of_reading(file: str, eval_file: str) -> Any:
    config = {"dataset": {"path": file}, "evalDataset": {"path": eval_file}}
    job = {"config": config, "files": [file], "evalFiles": [eval_file]}
    try:
        return read_training_data(job, Sft(), tokenizer, 48, print).training.rows
    except KitError as error:
        return [error.code, str(error)]
