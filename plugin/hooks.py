"""pytest's hooks."""
