"""Saves a small GPT-2 with random weights: gpt2.py <engine's folder> <to>."""

import json
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

END = "<|endoftext|>"
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=300,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    special_tokens=[END],
    show_progress=False,
)
tokenizer.train_from_iterator(["ask again and again", "ask me"] * 9, trainer)
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)
fast.save_pretrained(sys.argv[2])
torch.manual_seed(1)
config = GPT2Config(
    n_layer=1,
    n_head=2,
    n_embd=16,
    n_positions=128,
    vocab_size=len(fast),
    eos_token_id=0,
    bos_token_id=0,
    embd_pdrop=0,
    attn_pdrop=0,
    resid_pdrop=0,
)
GPT2LMHeadModel(config).save_pretrained(sys.argv[2])
print(json.dumps({"vocabulary": len(fast)}))
