"""What the checkpoints of training runs, measured, say together: pure functions over outcomes."""
