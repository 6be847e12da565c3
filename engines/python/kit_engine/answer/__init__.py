"""Answers from a model."""
