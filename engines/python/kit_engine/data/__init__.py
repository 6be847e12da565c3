"""Rows, and the tokens learned from them."""
