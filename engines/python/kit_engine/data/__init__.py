"""Rows, and the tokens that are learned from them."""
