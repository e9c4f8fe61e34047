"""The step-to-step noise of a run's metrics as a small table: the same cells in every report."""

from __future__ import annotations

from collections.abc import Sequence

from .._util import text as words
from ..analysis.conclusions import RunConclusions, StepNoise
from ..gate import units

NOISE_LEGEND = "SNR: range over step noise, the spread around a smooth curve"


def by_signal(run: RunConclusions, metrics: Sequence[str]) -> tuple[str, ...]:
    """The metrics of a run: the deciding one, then those with the highest signal-to-noise ratio."""
    ratio = {each.metric: each.signal_to_noise or 0.0 for each in run.noise}
    others = sorted(metrics, key=lambda metric: -ratio.get(metric, -1.0))
    first = [run.by] if run.by in metrics else []
    return tuple(dict.fromkeys([*first, *others]))


def noise_rows(run: RunConclusions, noise: Sequence[StepNoise]) -> list[tuple[str, ...]]:
    """The cells of a table, the header first: metric, its best, and its noise beside its range."""
    best = {each.metric: each.best for each in run.best}
    header = ("metric", "best", "range", "step noise", "sampling error", "SNR")
    rows: list[tuple[str, ...]] = [header]
    for each in noise:
        rows.append(
            (
                each.metric,
                best.get(each.metric, words.MISSING),
                units.size(each.span, each.unit),
                units.size(each.step, each.unit),
                units.size(each.sampling, each.unit),
                words.MISSING if each.signal_to_noise is None else f"{each.signal_to_noise:.1f}",
            )
        )
    return rows
