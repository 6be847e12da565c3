"""A model's folder."""
