"""Makes GGUF files of a Llama: convert.py <folder of gguf-py> <checkpoint> <to>.

Writes BF16.gguf, Q8_0.gguf and Q4_0.gguf, which has its embedding in Q8_0, as llama.cpp's own tools
make them. Of the tokenizer it has what llama.cpp needs to load: the bench sends token ids.
"""

import json
import sys
from pathlib import Path
from typing import Any

packages, source, to = sys.argv[1:]
sys.path.insert(0, packages)

import gguf  # noqa: E402
import numpy as np  # noqa: E402
from gguf import GGMLQuantizationType as Type  # noqa: E402
from safetensors.torch import load_file  # noqa: E402


def read(name: str) -> dict[str, Any]:
    return json.loads((Path(source) / name).read_text())


config = read("config.json")
tokenizer = read("tokenizer.json")
heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
tensors = {
    names.get_name(name, (".weight",)): tensor.float().numpy()
    for name, tensor in load_file(Path(source) / "model.safetensors").items()
}


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp rotates neighbours; a checkpoint has each head's halves one after the other."""
    halves = rows.reshape(heads, 2, -1, rows.shape[1])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def describe(writer: gguf.GGUFWriter, file_type: gguf.LlamaFileType) -> None:
    writer.add_file_type(file_type)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    rope = config.get("rope_parameters") or config
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    vocabulary = tokenizer["model"]["vocab"]
    special = {token["content"] for token in tokenizer["added_tokens"] if token["special"]}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    types = [
        gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens
    ]
    merges = tokenizer["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    )
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def write(kind: Type, file_type: gguf.LlamaFileType) -> None:
    writer = gguf.GGUFWriter(Path(to) / f"{kind.name}.gguf", "llama")
    describe(writer, file_type)
    for name, tensor in tensors.items():
        own = kind
        if tensor.ndim == 1:
            own = Type.F32
        elif kind == Type.Q4_0 and name == "token_embd.weight":
            own = Type.Q8_0
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            tensor = interleaved(tensor, heads if name.endswith("q.weight") else kv_heads)
        writer.add_tensor(name, gguf.quants.quantize(tensor, own), raw_dtype=own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


write(Type.BF16, gguf.LlamaFileType.MOSTLY_BF16)
write(Type.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0)
write(Type.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0)
