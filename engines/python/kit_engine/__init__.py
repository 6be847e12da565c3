"""Trains by transformers' Trainer and answers from checkpoints, for Kit."""
