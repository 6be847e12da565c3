"""Loads models and tokenizers from their folders."""

import json
import os
import pickle
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ..process.constants import CONSTANTS
from ..process.errors import KitError
from .stop_tokens import read_stop_tokens

TOKENIZER = "tokenizer.json"
# The folder of an adapter's base among a job's artifacts.
BASE = CONSTANTS["baseFolder"]

# No downloads, and no custom code.
SAFE_OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def silence_libraries() -> None:
    """Hides the libraries' messages to developers."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning)


@dataclass
class Source:
    """A model's folders."""

    base: str
    # The folder of its adapter.
    adapter: str | None = None


def load_config(source: Source) -> Any:
    with reading(source.base):
        assert_safe(source.base)
        config = AutoConfig.from_pretrained(source.base, **SAFE_OPTIONS)
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or is_bidirectional(config):
        raise KitError(
            "MODEL_INVALID",
            f"{source.base} is a {config.model_type} model, which does not generate text from left "
            "to right. Use a causal language model.",
        )
    return config


def assert_safe(folder: str) -> None:
    """
    Refuses a model that needs custom code, that renames its weight files (their index may lead
    anywhere), or that has more layers than any real model.
    """
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if "auto_map" in config and config.get("model_type") not in CONFIG_MAPPING:
        raise KitError(
            "MODEL_INVALID",
            f"{folder} needs custom code (auto_map in its config.json), which Kit never runs. "
            "Use a model that transformers has built in.",
        )
    max_layers = CONSTANTS["maxLayers"]
    for part in (config, config.get("text_config")):
        layers = part.get("num_hidden_layers") if isinstance(part, dict) else None
        if isinstance(layers, (int, float)) and layers > max_layers:
            raise KitError(
                "CHECKPOINT_INVALID",
                f"{folder} needs at most {max_layers:,} as num_hidden_layers, not {layers:,}. "
                "Use a smaller model.",
            )
    if config.get("transformers_weights") is not None:
        raise KitError(
            "CHECKPOINT_INVALID",
            f"{folder} renames its weight files (transformers_weights in its config.json). "
            "Use a model with model.safetensors.",
        )


def is_bidirectional(config: Any) -> bool:
    """Encoders such as BERT, which AutoModelForCausalLM loads, would see the answers."""
    is_decoder = getattr(config, "is_decoder", False) or config.is_encoder_decoder
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING and not is_decoder


def load_tokenizer(source: Source) -> Any:
    """
    Reads only tokenizer.json, like the embedded engine. AutoTokenizer would replace components by
    those of the model type's class.
    """
    folders = [folder for folder in (source.adapter, source.base) if folder is not None]
    having = (folder for folder in folders if os.path.exists(os.path.join(folder, TOKENIZER)))
    folder = next(having, None)
    if folder is None:
        raise KitError(
            "MODEL_INVALID",
            f"The tokenizer of {source.base} has no {TOKENIZER}. Use a model that has one.",
        )
    with reading(folder):
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, **SAFE_OPTIONS)
        # The class may replace components, and the config may read special tokens as text.
        backend = Tokenizer.from_file(os.path.join(folder, TOKENIZER))
        tokenizer._tokenizer = with_added_tokens(backend, tokenizer)
        tokenizer.split_special_tokens = False
        read_stop_tokens(tokenizer, source.base)
    return tokenizer


def with_added_tokens(backend: Tokenizer, tokenizer: Any) -> Tokenizer:
    """Adds tokens that only the sidecar files have, in order of id."""
    for _, token in sorted(tokenizer.added_tokens_decoder.items()):
        if backend.token_to_id(token.content) is None:
            add = backend.add_special_tokens if token.special else backend.add_tokens
            add([token])
    return backend


def load_model(source: Source, dtype: torch.dtype) -> Any:
    """The whole model; an adapter is merged into it."""
    with reading(source.base):
        model, info = AutoModelForCausalLM.from_pretrained(
            source.base, dtype=dtype, output_loading_info=True, **SAFE_OPTIONS
        )
    if info["missing_keys"]:
        raise KitError(
            "CHECKPOINT_INVALID",
            f"{source.base} lacks {min(info['missing_keys'])}. Use another checkpoint.",
        )
    if source.adapter is None:
        return model
    with reading(source.adapter):
        return merged(model, source.adapter).requires_grad_(True)


def merged(model: Any, adapter: str) -> Any:
    """
    The model with an adapter merged in. PEFT silently ignores unknown tensor names, so this renames
    those of other tools, which contain the adapter's name or lack PEFT's prefix.
    """
    from peft import PeftModel
    from peft.utils.save_and_load import load_peft_weights, set_peft_model_state_dict

    adapted = PeftModel.from_pretrained(model, adapter)
    if adapted.peft_config["default"].peft_type == "LORA":
        stored = load_peft_weights(adapter, device="cpu", local_files_only=True)
        renamed = {saved_name(name): tensor for name, tensor in stored.items()}
        unmatched = set_peft_model_state_dict(adapted, renamed).unexpected_keys
        if unmatched:
            raise KitError(
                "CHECKPOINT_INVALID",
                f"{adapter} has {min(unmatched)}, which matches nothing in its base. "
                "Use the base that the adapter was trained on.",
            )
    return adapted.merge_and_unload()


def saved_name(name: str) -> str:
    """The name under which PEFT saves a tensor, as in engines/lora/peftConfig.ts."""
    saved = re.sub(r"\.(lora_[AB])\.[^.]+\.weight$", r".\1.weight", name)
    return saved if saved.startswith(PREFIX) else PREFIX + saved


PREFIX = "base_model.model."


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turns errors of reading a model into a KitError."""
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


@contextmanager
def resuming(checkpoint: str) -> Iterator[None]:
    """For a checkpoint to resume from: on this error, Kit tries the previous one."""
    try:
        with reading(checkpoint):
            yield
    except KitError as error:
        if error.code != "CHECKPOINT_INVALID":
            raise
        raise KitError("RESUME_INVALID", str(error)) from error


def context_of(config: Any) -> int:
    """A model's context length, in tokens."""
    text = config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "max_sequence_length"):
        length = getattr(text, name, None)
        if isinstance(length, int):
            return length
    return DEFAULT_CONTEXT


# For models whose config doesn't state it.
DEFAULT_CONTEXT = 1_000_000


def set_padding(tokenizer: Any) -> None:
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
