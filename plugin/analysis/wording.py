"""What a reader should take away, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._util.text import count, counted, listed
from ..results.measurement import Measurement
from ..scores.composite import METRIC
from .compare import AVERAGE
from .composites import ROUNDING
from .conclusions import CompositeMismatch, RunConclusions, RunsCompared
from .runs import EACH_BEST

# Of a run with more metrics, only the one that decides has sentences.
_FEW_METRICS = 4


def sentences(
    runs: Sequence[RunConclusions],
    compared: Sequence[RunsCompared],
    wrong: Sequence[CompositeMismatch],
    stated: int,
) -> tuple[str, ...]:
    """Every claim that the numbers make at first sight, and whether the samples support it.

    For each run whether to stop and which checkpoint to keep; then its best and its fall since
    the peak, by the composite and by the first metric; then one run against another; then stated
    composites that are wrong. The other metrics' sentences stand in their own `detail`.

    Args:
        stated: how many composites the sources state.
    """
    return (
        *_decisions(runs),
        *_curves(runs),
        *_pairs(runs, compared),
        *_composites(wrong, stated),
    )


def _decisions(runs: Sequence[RunConclusions]) -> Iterator[str]:
    for run in runs:
        if run.stopping is None:
            continue
        yield _of(run, run.stopping.detail)


def _curves(runs: Sequence[RunConclusions]) -> Iterator[str]:
    for run in runs:
        for metric in _headline(run):
            yield from (_of(run, each.detail) for each in run.best if each.metric == metric)
            # A run that is still at its best, and one to stop for its fall, have been said so.
            stop = run.stopping
            yield from (
                _of(run, each.detail)
                for each in run.peaks
                if each.metric == metric
                and each.comparison is not None
                and not (stop and each.detail in stop.detail)
            )


def _pairs(runs: Sequence[RunConclusions], compared: Sequence[RunsCompared]) -> Iterator[str]:
    """One training run's sequence lengths, and runs that are told apart; the rest are counted."""
    family = {run.run: _family(run.measurements[0]) for run in runs}
    headline = {run.run: set(_headline(run)) for run in runs}
    bests = [
        row
        for row in compared
        if row.at == EACH_BEST and row.metric in headline[row.left] & headline[row.right]
    ]
    bests.sort(key=lambda row: row.metric not in (METRIC, AVERAGE))
    only_pair = len({(row.left, row.right) for row in bests}) == 1
    silent: dict[str, list[str]] = {}
    for row in bests:
        if only_pair or row.differ == "yes" or family[row.left] == family[row.right]:
            yield row.detail
        else:
            silent.setdefault(row.metric, []).append(f"{row.left} and {row.right}")
    for metric, names in silent.items():
        yield (
            f"{counted(len(names), 'other pair')} of runs statistically tied in {metric}, each "
            f"one's best: {listed(names)}"
        )


def _composites(wrong: Sequence[CompositeMismatch], stated: int) -> Iterator[str]:
    if wrong:
        yield (
            f"{count(len(wrong))} of {count(stated)} stated composites differ from what their "
            f"own parts give by more than rounding ({ROUNDING:g})"
        )


def _family(checkpoint: Measurement) -> str:
    """The run's name without a sequence length: `mlm_v2` of `mlm_v2_1536` at 1536."""
    length = "" if checkpoint.seq_len is None else str(checkpoint.seq_len)
    return checkpoint.run.replace(length, "").strip(" -_/")


def _headline(run: RunConclusions) -> tuple[str, ...]:
    """The metric that decides; of a run that is no benchmark suite also composite and first."""
    metrics = [each.metric for each in run.best]
    few = len(metrics) <= _FEW_METRICS
    others = [*(m for m in metrics if m == METRIC), *metrics[:1]] if few else []
    return tuple(dict.fromkeys([*([run.by] if run.by else []), *others]))


def _of(run: RunConclusions, detail: str) -> str:
    return f"{run.run}: {detail}" if run.run else detail
