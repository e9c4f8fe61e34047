"""Outcomes of items folded into one run, and runs merged into one."""
