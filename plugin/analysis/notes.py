"""What could not be said, or only with a reservation, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .._util.text import count, listed
from ..gate.verdict import Comparison
from ..results.measurement import Measurement
from ..scores.composite import METRIC
from .compare import AVERAGE
from .composites import BOUND
from .conclusions import Best, RunConclusions, RunsCompared
from .eligibility import LeftOut

_NAMES_SHOWN = 8


def repeated_notes(repeated: Sequence[Measurement]) -> Iterator[str]:
    """Checkpoints that were measured more than once."""
    if repeated:
        names = listed(dict.fromkeys(_in_run(each.run, each.name) for each in repeated))
        yield f"measured more than once, the last result counts: {names}"


def left_out_notes(left_out: Iterable[tuple[str, LeftOut]]) -> Iterator[str]:
    """Checkpoints that took no part in a conclusion, one note for each reason.

    Args:
        left_out: each with the name of its run.
    """
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for run, each in left_out:
        metrics.setdefault((run, each.name, each.reason), []).append(each.metric)
    names: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (run, name, reason), of in metrics.items():
        names.setdefault((run, tuple(of), reason), []).append(name)
    for (run, held, reason), those in names.items():
        what = _in_run(run, listed(those, _NAMES_SHOWN))
        yield f"left out of {listed(held, _NAMES_SHOWN)}: {what}: {reason}"


def composite_notes(
    given: Sequence[Measurement], made: Sequence[Measurement], weights: Mapping[str, float]
) -> Iterator[str]:
    """How the composites came about, where that limits what they say."""
    again = sum(
        old.composite is not None
        and old.composite.value is not None
        and new.composite is not old.composite
        for old, new in zip(given, made, strict=True)
    )
    if again:
        formula = " + ".join(f"{weight:g} x {name}" for name, weight in weights.items() if weight)
        yield f"{count(again)} composites were made with other weights, and again with {formula}"
    scores = [each.composite for each in made if each.composite is not None]
    if any(score.method == BOUND for score in scores):
        yield (
            "the standard error of a composite of numbers is an upper bound: metrics of one "
            "benchmark share its samples, and how far is not known without them"
        )
    if scores and all(score.value is None for score in scores):
        yield f"there is no composite: {listed(dict.fromkeys(score.reason for score in scores))}"


def number_notes(runs: Sequence[RunConclusions], compared: Sequence[RunsCompared]) -> Iterator[str]:
    """Comparisons that are less sharp than the samples would make them, or not tested at all."""
    kinds = {comparison.kind for comparison in _comparisons(runs, compared)}
    if "unpaired" in kinds:
        yield (
            "comparisons are unpaired where a source holds numbers only: checkpoints asked the "
            "same samples are told apart by smaller differences when the samples are kept"
        )
    if "point" in kinds:
        yield "differences are not tested where a source states no n and no standard error"


def epoch_notes(every_epoch: bool) -> Iterator[str]:
    """That curves were not compared all along."""
    if not every_epoch:
        yield "so many runs are compared at the last epoch that both have only, and by their best"


def direction_notes(metrics: Sequence[str]) -> Iterator[str]:
    """Metrics that took no part because no value of theirs is known to be better."""
    if metrics:
        yield (
            f"shown and not compared, whether more is better is not known: "
            f"{listed(metrics, _NAMES_SHOWN)}"
        )


def partial_notes(runs: Sequence[RunConclusions]) -> Iterator[str]:
    """Checkpoints of one run that were not asked the same samples, one note for several metrics."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for best in run.best:
            for before, after in _partial(run, best):
                metrics.setdefault((before, after), []).append(best.metric)
    for (before, after), names in metrics.items():
        yield f"{before} in {listed(names, _NAMES_SHOWN)}{after}"


def _partial(run: RunConclusions, best: Best) -> Iterator[tuple[str, str]]:
    """What stands before and after the metric's name in a note."""
    if best.metric in (METRIC, AVERAGE):
        return
    scores = {each.name: each.score(best.metric) for each in run.measurements}
    held = {name: score.n for name, score in scores.items() if score is not None}
    alien = [rival.name for rival in best.rivals if rival.comparison is None]
    against = f"compared with {_in_run(run.run, best.best)}"
    if alien:
        yield f"not {against}", f", for want of a common sample: {listed(alien, _NAMES_SHOWN)}"
    partly = [
        f"{rival.name} ({count(figures.n)} of {count(most)})"
        for rival in best.rivals
        if (figures := rival.comparison) is not None
        and figures.kind == "paired"
        and figures.n is not None
        and figures.n < (most := max(held[rival.name], held[best.best]))
    ]
    if partly:
        yield against, f" over common samples only: {listed(partly, _NAMES_SHOWN)}"


def _comparisons(
    runs: Sequence[RunConclusions], compared: Sequence[RunsCompared]
) -> Iterator[Comparison]:
    for run in runs:
        for best in run.best:
            yield from (r.comparison for r in best.rivals if r.comparison is not None)
    yield from (row.comparison for row in compared if row.comparison is not None)


def _in_run(run: str, name: str) -> str:
    return f"{run}: {name}" if run else name
