"""Evaluate checkpoints while a trainer writes them."""
