"""The samples whose outcome changed, with their texts: against the baseline, or a run's best.

A sample is *lost* when the compared checkpoint got it right (or more often right) and this one did
not, and *won* the other way round. Only the headline protocol counts: others have the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from .._util.errors import CkptbenchError
from ..analysis.conclusions import Conclusions, RunConclusions
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..readers.result import Result, SampleRow
from ..results.summary import BenchmarkResult
from .baseline_answers import BaselineAnswers, changed_rows
from .overview import CheckpointRow, checkpoint_label, overview

BASELINE_MODEL = "the baseline's model"


@dataclass(frozen=True, slots=True)
class FlippedSample:
    """One sample that changed.

    Attributes:
        change: `lost` or `won`.
        row: the sample as this checkpoint answered it.
        reference: the same sample as the compared checkpoint answered it; None where only its
            outcome is known, as the baseline's answers are not at hand.
    """

    change: str
    row: SampleRow
    reference: SampleRow | None


@dataclass(frozen=True, slots=True)
class FlipGroup:
    """What changed for one checkpoint in one benchmark.

    Attributes:
        checkpoint: label of the checkpoint.
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`.
        metric: the first metric, whose values are compared.
        reference: what it is compared with: the baseline's file, or the best checkpoint.
        regressions: how many samples were lost, shown or not.
        improvements: how many were won, shown or not.
        samples: those that are shown, lost ones first.
        missing: why none can be shown although some flipped; empty otherwise.
        model: whose answer `FlippedSample.reference` is.
        note: where the baseline's answers are read from, or why they are not at hand.
    """

    checkpoint: str
    benchmark: str
    protocol: str
    metric: str
    reference: str
    regressions: int
    improvements: int
    samples: tuple[FlippedSample, ...] = ()
    missing: str = ""
    model: str = BASELINE_MODEL
    note: str = ""


_Compared = tuple[
    BenchmarkResult | BenchmarkMeasurement, str, Mapping[str, str], Measurement | None
]
"""A benchmark, what it is compared with, its changes, and the best checkpoint if it is that."""


_References = Callable[[FlipGroup, Mapping[str, str]], tuple[dict[str, SampleRow], str]]
"""From a group and the changes by hash to the compared checkpoint's rows, and a note on them."""
_OPPOSITE = {"lost": "won", "won": "lost"}


def flip_groups(
    results: Sequence[Result], conclusions: Conclusions, most: int
) -> Iterator[FlipGroup]:
    """What changed, one group at a time, so that the texts of only one are in memory.

    Checkpoints with a baseline are compared with it; those of a run without any are compared
    with the run's best. Groups in which nothing changed are included.

    Args:
        most: samples with texts over all groups; each group has an equal share of them.
    """
    plans = list(_plans(results, conclusions))
    share = max(1, most // max(1, sum(bool(changes) for changes, _ in plans)))
    for changes, with_samples in plans:
        yield with_samples(_fair_share(changes, share))


def _plans(
    results: Sequence[Result], conclusions: Conclusions
) -> Iterator[tuple[Mapping[str, str], Callable[[Mapping[str, str]], FlipGroup]]]:
    """The changes of each group, and what makes the group with the samples of some of them.

    Samples are identified by node id against a baseline, by hash against the best checkpoint.
    """
    origin = {(m.source, m.name): result for result in results for m in result.measurements}
    rows = {id(row.measurement): row for row in overview(results, conclusions).rows}

    @lru_cache(maxsize=1)  # all checkpoints of a run are compared with the same one
    def best_rows(source: str, name: str, benchmark: str, protocol: str) -> Sequence[SampleRow]:
        """The samples of a benchmark and protocol, without their texts."""
        found = origin[source, name].samples(name, benchmark) if (source, name) in origin else ()
        return [replace(row, fields={}) for row in found if row.protocol == protocol]

    answers = lru_cache(maxsize=1)(BaselineAnswers)  # most results have one baseline

    for run in conclusions.runs:
        of_run = [rows[id(measurement)] for measurement in run.measurements]
        with_baseline = any(row.measured and row.measured.baseline for row in of_run)
        for row in of_run:
            name, source = row.measurement.name, row.measurement.source
            result = origin.get((source, name))
            if result is None:
                continue
            compared = (
                _against_baseline(row) if with_baseline else _against_best(conclusions, run, row)
            )
            for bench, reference, changes, best in compared:
                about = (bench.benchmark, bench.protocol, _first_metric(bench), reference)
                lost = list(changes.values()).count("lost")
                model = reference if best else BASELINE_MODEL
                group = FlipGroup(row.label, *about, lost, len(changes) - lost, model=model)
                rows_of = partial(result.samples, name, bench.benchmark)
                if best is not None:
                    of_best = partial(best_rows, best.source, best.name, *about[:2])
                    references: _References = partial(_of_best, of_best)
                else:
                    references = partial(_of_baseline, answers, reference, result.path)
                yield changes, partial(_with_samples, group, result.path, rows_of, references)


def _against_baseline(row: CheckpointRow) -> Iterator[_Compared]:
    for bench in row.measured.benchmarks if row.measured else ():
        if bench.primary and bench.verdicts and row.measured:
            changes = {flip.nodeid: flip.change for flip in bench.flips}
            yield bench, row.measured.baseline, changes, None


def _against_best(
    conclusions: Conclusions, run: RunConclusions, row: CheckpointRow
) -> Iterator[_Compared]:
    by_name = {m.name: m for m in run.measurements}
    best_by = {best.metric: by_name.get(best.best) for best in run.best}
    for bench in row.measurement.primary_benchmarks():
        best = best_by.get(_first_metric(bench))
        if best is None or best is row.measurement:
            continue
        changes = _changes(bench, best, _first_metric(bench))
        if changes is not None:
            yield bench, checkpoint_label(conclusions, run.run, best.name), changes, best


def _first_metric(bench: BenchmarkResult | BenchmarkMeasurement) -> str:
    return bench.scores[0].metric if bench.scores else ""


def _changes(
    benchmark: BenchmarkMeasurement, best: Measurement, metric: str
) -> dict[str, str] | None:
    """The change of each sample whose value differs, by hash; None without both tables."""
    other = next((b for b in best.benchmarks if b.protocol == benchmark.protocol), None)
    now, then = benchmark.column(metric), other.column(metric) if other else {}
    if not now or not then:
        return None
    score = benchmark.score(metric)
    rises = score is None or score.higher_is_better is not False
    # A comparison with NaN is false either way: a missing value is no change.
    return {
        sample: "lost" if (value < then[sample]) == rises else "won"
        for sample, value in now.items()
        if sample in then and (value < then[sample] or value > then[sample])
    }


def _with_samples(
    group: FlipGroup,
    path: Path,
    rows_of: Callable[[], Iterable[SampleRow]],
    references_of: _References,
    chosen: Mapping[str, str],
) -> FlipGroup:
    """The group with some of its samples, and the answers that they are compared with."""
    if not chosen:
        return group
    by_hash = group.model != BASELINE_MODEL
    rows: dict[str, SampleRow] = {}
    references: dict[str, SampleRow] = {}
    missing = note = ""
    try:
        rows = changed_rows(rows_of(), group.protocol, chosen, by_hash=by_hash)
        then = {row.hash: _OPPOSITE[chosen[key]] for key, row in rows.items()}
        references, note = references_of(group, then)
    except CkptbenchError as error:  # a report without texts is better than none
        missing = f"{error.where}: {error.what}"
    if not rows and not missing:
        missing = f"{path} keeps no texts of its samples"
    samples = [
        FlippedSample(change, rows[key], references.get(rows[key].hash))
        for key, change in chosen.items()
        if key in rows
    ]
    ordered = tuple(sorted(samples, key=lambda sample: sample.change))
    return replace(group, samples=ordered, missing=missing, note=note)


def _of_best(
    rows: Callable[[], Iterable[SampleRow]], group: FlipGroup, wanted: Mapping[str, str]
) -> tuple[dict[str, SampleRow], str]:
    return changed_rows(rows(), group.protocol, wanted, by_hash=True), ""


def _of_baseline(
    answers: Callable[[str, Path], BaselineAnswers],
    baseline: str,
    folder: Path,
    group: FlipGroup,
    wanted: Mapping[str, str],
) -> tuple[dict[str, SampleRow], str]:
    found = answers(baseline, folder)
    return found.rows(group.benchmark, group.protocol, wanted), found.note


def _fair_share(wanted: Mapping[str, str], share: int) -> dict[str, str]:
    """At most `share` of the samples: half of it for each change, what one leaves to the other."""
    lost = [key for key, change in wanted.items() if change == "lost"]
    won = [key for key, change in wanted.items() if change == "won"]
    half = share // 2
    of_lost = min(len(lost), max(share - half, share - len(won)))
    shown = lost[:of_lost] + won[: share - of_lost]
    return {key: wanted[key] for key in shown}
