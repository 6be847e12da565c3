"""A training."""
