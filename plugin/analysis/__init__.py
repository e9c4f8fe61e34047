"""Checkpoints compared: the best one, overfitting, noise, runs side by side. Pure functions."""
