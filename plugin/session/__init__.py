"""Inside pytest: collection, items, workers, the end of a session."""
