"""Saves a small GPT-2 and BART's decoder, with random weights: models.py <engine's folder> <to>."""

import json
import os
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BartConfig,
    BartForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

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
torch.manual_seed(1)
specials = {"vocab_size": len(fast), "eos_token_id": 0, "bos_token_id": 0}
gpt2 = GPT2Config(
    n_layer=1,
    n_head=2,
    n_embd=16,
    n_positions=128,
    embd_pdrop=0,
    attn_pdrop=0,
    resid_pdrop=0,
    **specials,
)
# It averages each batch, whatever the Trainer tells it.
bart = BartConfig(
    d_model=16,
    decoder_layers=1,
    decoder_attention_heads=2,
    decoder_ffn_dim=16,
    max_position_embeddings=128,
    dropout=0,
    pad_token_id=0,
    **specials,
)
for model in (GPT2LMHeadModel(gpt2), BartForCausalLM(bart)):
    folder = os.path.join(sys.argv[2], model.config.model_type)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
print(json.dumps({"vocabulary": len(fast)}))
