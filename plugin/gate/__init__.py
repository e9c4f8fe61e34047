"""The gate: this run against a baseline, by paired statistics. Only `verdict` and `baseline` are
light; the comparisons are imported when a run needs them."""
