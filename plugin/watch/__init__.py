"""Evaluating a training run's checkpoints while the trainer is still writing them."""
