"""Models and tokenizers from their folders."""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
)

from .errors import KitError

# By default, transformers asks on stdin whether a model's own code may run.
PLAIN = {"local_files_only": True, "trust_remote_code": False}

# The folder of an adapter's base, among a job's artifacts.
BASE = "base"


@dataclass
class Source:
    """The folders of a model, which Kit has found."""

    base: str
    # Folder of an adapter to it.
    adapter: str | None = None

    def named(self) -> str:
        return self.adapter or self.base


def load_config(source: Source) -> Any:
    """:raises KitError: for a model that does not generate text, or needs code of its own"""
    with reading(source.base):
        settings, _ = PreTrainedConfig.get_config_dict(source.base, **PLAIN)
        if "auto_map" in settings and settings.get("model_type") not in CONFIG_MAPPING:
            raise KitError(
                "MODEL_INVALID",
                f"{source.base} needs code of its own (auto_map in its config.json), which Kit "
                "never runs. Use a model that transformers has built in.",
            )
        config = AutoConfig.from_pretrained(source.base, **PLAIN)
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or reads_ahead(config):
        raise KitError(
            "MODEL_INVALID",
            f"{source.base} is a {config.model_type} model, which does not generate text from left "
            "to right. Use a causal language model.",
        )
    return config


def reads_ahead(config: Any) -> bool:
    """An encoder such as BERT, which AutoModelForCausalLM loads, would see the answers."""
    is_decoder = getattr(config, "is_decoder", False) or config.is_encoder_decoder
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING and not is_decoder


def load_tokenizer(source: Source) -> Any:
    where = source.named()
    if not any(os.path.exists(os.path.join(where, f"tokenizer{end}")) for end in FILES):
        where = source.base
    with reading(where):
        tokenizer = AutoTokenizer.from_pretrained(where, **PLAIN)
    if not tokenizer.is_fast:
        raise KitError(
            "MODEL_INVALID",
            f"The tokenizer of {where} has no tokenizer.json. Use a model that has one.",
        )
    return tokenizer


# Ends of a tokenizer's file names, saved beside an adapter.
FILES = (".json", ".model", "_config.json")


def load_model(source: Source, dtype: torch.dtype) -> Any:
    """The whole model; an adapter is merged into it."""
    with reading(source.base):
        model, info = AutoModelForCausalLM.from_pretrained(
            source.base, dtype=dtype, output_loading_info=True, **PLAIN
        )
    if info["missing_keys"]:
        raise KitError(
            "CHECKPOINT_INVALID",
            f"{source.base} lacks {min(info['missing_keys'])}. Use another checkpoint.",
        )
    if source.adapter is None:
        return model
    from peft import PeftModel

    with reading(source.adapter):
        merged = PeftModel.from_pretrained(model, source.adapter).merge_and_unload()
        return merged.requires_grad_(True)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Says in a sentence why a model's files cannot be read."""
    try:
        yield
    except (KitError, MemoryError, torch.OutOfMemoryError):
        raise
    except pickle.UnpicklingError as error:
        raise KitError(
            "CHECKPOINT_INVALID",
            f"{name} has a pickle that is damaged or holds code, which Kit never runs. "
            "Use another checkpoint.",
        ) from error
    except Exception as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise KitError(
            "CHECKPOINT_INVALID", f"Cannot load {name}: {line.rstrip('.')}. Use another checkpoint."
        ) from error


def context_of(config: Any) -> int:
    """The longest sequence that a model reads, in tokens."""
    text = config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "max_sequence_length"):
        length = getattr(text, name, None)
        if isinstance(length, int):
            return length
    return MOST_CONTEXT


# Context of a model that names none.
MOST_CONTEXT = 1_000_000
