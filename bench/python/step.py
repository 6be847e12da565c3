"""Takes a training step of a Llama by transformers, in float32, for each line of input, and prints
its time in ms; on one thread, processor time.

step.py '{"width": 96, "layers": 3, "heads": 4, "hidden": 256, "vocabulary": 264, "context": 256,
          "rows": 8, "length": 96, "threads": 1}'
"""

import json
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

sizes = json.loads(sys.argv[1])
torch.set_num_threads(sizes["threads"])
torch.manual_seed(1)
model = LlamaForCausalLM(
    LlamaConfig(
        hidden_size=sizes["width"],
        intermediate_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        vocab_size=sizes["vocabulary"],
        max_position_embeddings=sizes["context"],
        tie_word_embeddings=True,
        use_cache=False,
        bos_token_id=257,
        eos_token_id=258,
        pad_token_id=256,
    )
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)
shape = (sizes["rows"], sizes["length"])
tokens = torch.randint(0, 256, shape)
targets = torch.randint(0, 256, shape)


def step() -> float:
    logits = model(input_ids=tokens).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


clock = time.process_time if sizes["threads"] == 1 else time.perf_counter
for _ in sys.stdin:
    start = clock()
    step()
    print(1000 * (clock() - start), flush=True)
