"""Writes configs.json: what transformers makes of configs, and of tensors beside them, that are read in more than one way.

Usage: python configs.py > configs.json
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

sys.path.append(str(Path(__file__).parents[2] / "embedded/model/reference"))
from families import fill, numbers

LENGTH, VOCABULARY, LOGITS = 40, 48, 6
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=0,
)
ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "mistral": "MistralForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
}
LINEAR = {"rope_type": "linear", "factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
DEFAULT = {"rope_type": "default", "rope_theta": 500.0}
SLIDING, FULL = "sliding_attention", "full_attention"
ABSENT = object()
TIED = {"tie_word_embeddings": True}
EXTRA = {f"model.layers.{i}.self_attn.q_proj.bias": [16] for i in range(2)}


def without(*parts):
    return lambda shapes: {
        n: s for n, s in shapes.items() if not any(part in n for part in parts)
    }


def renamed(rename):
    return lambda shapes: {rename(name): shape for name, shape in shapes.items()}


# Family, changes of its config, changes of its tensors, and what Kit says where it refuses.
CASES = [
    ("llama", TIED, None, None),
    ("llama", TIED, without(HEAD), None),
    ("llama", TIED, without(EMBEDDING), None),
    ("gemma3_text", {}, None, None),
    ("smollm3", {}, None, None),
    ("smollm3", {}, without(HEAD), None),
    ("llama", {}, without(HEAD), "has no lm_head.weight"),
    ("qwen3", TIED, renamed(lambda n: n.removeprefix("model.")), None),
    ("qwen3", {**TIED, "architectures": ["Qwen3Model"]}, without(HEAD), None),
    ("llama", {}, renamed(lambda n: f"model.{n}"), None),
    ("llama", {"rope_parameters": DEFAULT, "rope_scaling": {**LINEAR, "rope_theta": 100.0}}, None, None),
    ("llama", {"rope_parameters": {"rope_type": "default"}, "rope_scaling": LINEAR}, None, None),
    ("llama", {"rope_parameters": DEFAULT, "rope_scaling": LINEAR}, None, "Write rope_theta into rope_scaling"),
    ("llama", {"rope_parameters": DEFAULT, "rope_scaling": LINEAR, "rope_theta": 500.0}, None, None),
    ("llama", {"rope_parameters": {"rope_type": "default"}, "rope_scaling": YARN}, None, 'type "yarn"'),
    ("llama", {"rope_parameters": YARN, "rope_scaling": {"rope_type": "default"}}, None, None),
    ("llama", {"rope_parameters": LINEAR, "rope_scaling": {}}, None, None),
    ("llama", {"rope_parameters": LINEAR, "rope_scaling": None, "rope_theta": 100.0}, None, None),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, None, None),
    ("llama", {"rope_scaling": LLAMA3}, None, None),
    ("llama", {"rope_scaling": LLAMA3, "original_max_position_embeddings": 16}, None, None),
    ("llama", {"rope_parameters": {FULL: LINEAR}}, None, "several sets of RoPE parameters"),
    ("qwen2", {"rope_parameters": {**LINEAR, "partial_rotary_factor": 0.5}}, None, "partial rotary"),
    ("llama", {"hidden_act": "swish"}, None, None),
    ("llama", {"hidden_act": "gelu"}, None, 'activation "gelu"'),
    ("gemma3_text", {"hidden_activation": "gelu_new"}, None, None),
    ("gemma3_text", {"hidden_activation": "gelu_python_tanh", "hidden_act": "silu"}, None, None),
    ("llama", {"attention_bias": True, "mlp_bias": True}, None, None),
    ("llama", {"attention_bias": True}, without("o_proj.bias"), None),
    ("llama", {}, lambda shapes: {**shapes, **EXTRA}, "q_proj.bias, but its config.json"),
    ("qwen2", {"attention_bias": False}, None, None),
    ("qwen3", {"attention_bias": True, "mlp_bias": True}, None, None),
    ("mistral", {"attention_bias": True}, None, None),
    ("gemma3_text", {"attention_bias": True}, None, None),
    ("llama", {"is_causal": False}, None, "attends to later tokens, too"),
    ("qwen3", {"per_layer_config": {"1": {"rms_norm_eps": 0.5}}}, None, "per_layer_config"),
    ("llama", {"pretraining_tp": 2, "attention_multiplier": 2.0, "logits_scaling": 2.0}, None, None),
    ("qwen2", {"sliding_window": 8}, None, None),
    ("qwen2", {"sliding_window": 8, "use_sliding_window": True}, None, None),
    ("qwen2", {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}, None, "last 8"),
    ("qwen3", {"sliding_window": 8, "layer_types": [FULL, SLIDING]}, None, "sliding_window"),
    ("mistral", {"sliding_window": 8, "use_sliding_window": False}, None, "last 8"),
    ("mistral", {"sliding_window": 8, "layer_types": [FULL, FULL], "head_dim": 4}, None, None),
    ("smollm3", {"sliding_window": 8, "layer_types": [FULL, SLIDING]}, None, "last 8"),
    ("smollm3", {"sliding_window": 8, "use_sliding_window": True, "no_rope_layers": [1, 1]}, None, None),
    ("smollm3", {"no_rope_layer_interval": 2}, None, None),
    ("gemma3_text", {"sliding_window_pattern": 2}, None, None),
    ("gemma3_text", {"layer_types": [FULL, SLIDING]}, None, None),
    ("gemma3_text", {"layer_types": ["attention", SLIDING], "rope_scaling": LINEAR}, None, None),
    ("gemma3_text", {"rope_parameters": {FULL: DEFAULT}, "rope_scaling": LINEAR, "sliding_window_pattern": 2}, None, None),
    ("gemma3_text", {"rope_scaling": {"type": "linear", "factor": 8.0}}, None, "Rename it to rope_type"),
    ("gemma3_text", {"rope_parameters": DEFAULT}, None, "in its rope_parameters"),
    ("qwen3", {"head_dim": ABSENT}, None, None),
    ("llama", {"num_key_value_heads": ABSENT, "head_dim": None}, None, None),
    ("gemma3_text", {"num_key_value_heads": ABSENT}, None, None),
    ("smollm3", {"num_key_value_heads": ABSENT, "rms_norm_eps": 0.1}, None, None),
    ("qwen2", {"num_key_value_heads": None}, None, None),
]


def tokens() -> torch.Tensor:
    values = (numbers("tokens", LENGTH) + 1) * 64
    return torch.tensor(values).long().reshape(1, LENGTH) % VOCABULARY


def result(family, changes, change, refused) -> dict:
    own = {"head_dim": 8, "sliding_window": 8} if family == "gemma3_text" else {}
    own = {"head_dim": 6} if family == "qwen3" else own
    own = {"sliding_window": None} if family == "mistral" else own
    kind = {"architectures": [ARCHITECTURES[family]], "model_type": family}
    config = {**kind, **SIZES, **own, **changes}
    config = {key: value for key, value in config.items() if value is not ABSENT}
    found = {"config": config, **({} if refused is None else {"refused": refused})}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config))
        try:
            with torch.device("meta"):
                made = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
            shapes = {name: list(p.shape) for name, p in made.state_dict().items()}
            shapes = shapes if change is None else change(shapes)
            tensors = {name: torch.empty(shape) for name, shape in shapes.items()}
            for name, tensor in tensors.items():
                fill(name, tensor)
            save_file(tensors, Path(folder) / "model.safetensors", metadata={"format": "pt"})
            found["tensors"] = shapes
            model, info = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True
            )
            # A bias that is missing is 0; any other tensor would be random.
            if [name for name in info["missing_keys"] if not name.endswith("bias")]:
                return found
            model.set_attn_implementation("eager")
            with torch.no_grad():
                logits = model(tokens(), use_cache=False).logits[0, -1, :LOGITS]
            found["logits"] = [float(f"{value:.6g}") for value in logits.tolist()]
        except Exception:
            if refused is None:
                raise
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    print(json.dumps([result(*case) for case in CASES]))
