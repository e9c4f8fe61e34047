"""Which checkpoints `--checkpoint` means: patterns, steps, epochs. No model is loaded."""
