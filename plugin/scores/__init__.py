"""Scores: reducers, intervals, aggregation and the composite; they import `_util` alone."""
