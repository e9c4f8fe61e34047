"""One line for each ratio of a benchmark, so that several scripts make one table."""

from __future__ import annotations

MARK = "ratio: "


def show(what: str, ratio: float, bound: float | None = None, *, at_least: bool = False) -> None:
    """Print a ratio, and the bound that it is meant to keep.

    Args:
        what: what is divided by what, the latter after the last colon.
    """
    side = "at least" if at_least else "at most"
    kept = "" if bound is None else f" ({side} {bound:g})"
    print(f"{MARK}{what}  {ratio:.2f}{kept}", flush=True)
