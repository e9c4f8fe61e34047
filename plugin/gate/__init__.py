"""The gate: this run against a baseline, by paired statistics. Only `verdict` and `decide` are
light; the comparison and the baseline file are imported when a run needs them."""
