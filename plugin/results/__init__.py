"""A run on disk as data: summary, outcomes, store, log."""
