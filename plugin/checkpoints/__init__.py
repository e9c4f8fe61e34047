"""From what stands after `--checkpoint` to the checkpoints of a session, without loading any."""
