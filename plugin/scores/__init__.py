"""Scores: reducers for benchmark authors. Folding, intervals and the composite are in the
other modules, which load numpy and are imported only when a run ends."""

from __future__ import annotations

from .reducers import first_choice, mean, pass_at_k, top_k
from .score import Reducer, SampleValues, Score

__all__ = ["Reducer", "SampleValues", "Score", "first_choice", "mean", "pass_at_k", "top_k"]
