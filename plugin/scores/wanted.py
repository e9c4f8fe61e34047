"""Which metrics are meant where a person names some."""

from __future__ import annotations

from collections.abc import Iterable


def wanted_among(metrics: Iterable[str], wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """Those of a benchmark's metrics that are wanted; all of them for None.

    `acc` means every metric whose name, or whose last word before a filter, is `acc`.
    """
    if wanted is None:
        return tuple(metrics)
    return tuple(metric for metric in metrics if not _spellings(metric).isdisjoint(wanted))


def _spellings(metric: str) -> set[str]:
    last = metric.rpartition(" ")[2]
    return {metric, last, last.partition(",")[0]}
