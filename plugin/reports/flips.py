"""The samples whose outcome changed, with their texts: against the baseline, or a run's best.

A sample is *lost* when what it is compared with got it right (or more often right) and this
checkpoint did not, and *won* the other way round. Samples of protocols that are shown beside the
headline one are left out: they are the same texts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .._util.errors import CkptbenchError
from ..analysis.conclusions import Conclusions, RunConclusions
from ..readers.result import Result, SampleRow
from ..results.measurement import BenchmarkMeasurement, Measurement
from ..results.summary import BenchmarkResult
from .overview import CheckpointRow, checkpoint_label, overview


@dataclass(frozen=True, slots=True)
class FlippedSample:
    """One sample that changed.

    Attributes:
        change: `lost` or `won`.
        row: the sample as this checkpoint answered it.
        reference: the same sample as the compared checkpoint answered it; None where only its
            outcome is known, as a baseline holds no answers.
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
        lost: how many samples were lost, shown or not.
        won: how many were won, shown or not.
        samples: those that are shown, lost ones first.
        missing: why none can be shown although some flipped; empty otherwise.
    """

    checkpoint: str
    benchmark: str
    protocol: str
    metric: str
    reference: str
    lost: int
    won: int
    samples: tuple[FlippedSample, ...]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which samples a group is made of: `wanted` maps node ids or hashes to the change."""

    result: Result
    measurement: Measurement
    checkpoint: str
    benchmark: str
    protocol: str
    metric: str
    reference: str
    wanted: Mapping[str, str]
    best: Measurement | None = None
    best_result: Result | None = None


def flip_groups(
    results: Sequence[Result], conclusions: Conclusions, most: int
) -> Iterator[FlipGroup]:
    """What changed, a group at a time, so that one group's texts are held at once.

    Checkpoints with a baseline are compared with it; those of a run without any are compared
    with the run's best. Groups in which nothing changed are given too.

    Args:
        most: samples with texts over all groups; each group has an equal share of them.
    """
    plans = list(_plans(results, conclusions))
    changed = [plan for plan in plans if plan.wanted]
    share = max(1, most // max(1, len(changed)))
    best = _BestRows()
    for plan in plans:
        yield _group(plan, share, best)


def _plans(results: Sequence[Result], conclusions: Conclusions) -> Iterator[_Plan]:
    origin = {(m.source, m.name): result for result in results for m in result.measurements}
    rows = {id(row.measurement): row for row in overview(results, conclusions).rows}
    for run in conclusions.runs:
        measured = [rows[id(measurement)] for measurement in run.measurements]
        with_baseline = any(row.measured and row.measured.baseline for row in measured)
        for row in measured:
            source = origin.get((row.measurement.source, row.measurement.name))
            if source is None:
                continue
            if not with_baseline:
                yield from _against_best(conclusions, run, row.measurement, origin)
            elif row.measured is not None:
                for benchmark in row.measured.benchmarks:
                    if benchmark.primary and benchmark.verdicts:
                        yield _against_baseline(source, row, benchmark, row.measured.baseline)


def _against_baseline(
    source: Result, row: CheckpointRow, benchmark: BenchmarkResult, reference: str
) -> _Plan:
    return _Plan(
        source,
        row.measurement,
        row.label,
        benchmark.benchmark,
        benchmark.protocol,
        benchmark.scores[0].metric if benchmark.scores else "",
        reference,
        {flip.nodeid: flip.change for flip in benchmark.flips},
    )


def _against_best(
    conclusions: Conclusions,
    run: RunConclusions,
    measurement: Measurement,
    origin: Mapping[tuple[str, str], Result],
) -> Iterator[_Plan]:
    by_name = {m.name: m for m in run.measurements}
    chosen = {best.metric: by_name.get(best.best) for best in run.best}
    for benchmark in measurement.primary_benchmarks():
        metric = benchmark.scores[0].metric if benchmark.scores else ""
        best = chosen.get(metric)
        if best is None or best is measurement:
            continue
        wanted = _changes(benchmark, best, metric)
        if wanted is None:
            continue
        yield _Plan(
            origin[measurement.source, measurement.name],
            measurement,
            checkpoint_label(conclusions, run.run, measurement.name),
            benchmark.benchmark,
            benchmark.protocol,
            metric,
            checkpoint_label(conclusions, run.run, best.name),
            wanted,
            best,
            origin.get((best.source, best.name)),
        )


def _changes(
    benchmark: BenchmarkMeasurement, best: Measurement, metric: str
) -> dict[str, str] | None:
    """The change of each sample whose value differs, by hash; None without both tables."""
    held = next((b.table for b in best.benchmarks if b.protocol == benchmark.protocol), None)
    table = benchmark.table
    if held is None or table is None:
        return None
    if metric not in table.metrics or metric not in held.metrics:
        return None
    then = dict(zip(held.samples, held.values[:, held.metrics.index(metric)].tolist(), strict=True))
    now = zip(table.samples, table.values[:, table.metrics.index(metric)].tolist(), strict=True)
    # A comparison with NaN is false either way: what does not exist did not change.
    return {
        sample: "lost" if value < then[sample] else "won"
        for sample, value in now
        if sample in then and (value < then[sample] or value > then[sample])
    }


class _BestRows:
    """The rows of a run's best checkpoint, read once for all that are compared with it."""

    def __init__(self) -> None:
        self._key: tuple[str, ...] = ()
        self._rows: list[SampleRow] = []

    def of(self, plan: _Plan) -> Sequence[SampleRow]:
        """Those of the plan's benchmark and protocol, without the texts of the samples."""
        if plan.best is None or plan.best_result is None:
            return ()
        key = (plan.best.source, plan.best.name, plan.protocol)
        if key != self._key:
            rows = plan.best_result.samples(plan.best.name, plan.benchmark)
            self._rows = [replace(row, fields={}) for row in rows if row.protocol == plan.protocol]
            self._key = key
        return self._rows


def _group(plan: _Plan, share: int, best: _BestRows) -> FlipGroup:
    changes = list(plan.wanted.values())
    lost, won = changes.count("lost"), changes.count("won")
    chosen = _fair_share(plan.wanted, share)
    rows: dict[str, SampleRow] = {}
    references: dict[str, SampleRow] = {}
    missing = ""
    try:
        by_hash = plan.best is not None
        if chosen:
            given = plan.result.samples(plan.measurement.name, plan.benchmark)
            rows = _rows(given, plan.protocol, chosen, by_hash=by_hash)
            opposite = {k: "won" if change == "lost" else "lost" for k, change in chosen.items()}
            references = _rows(best.of(plan), plan.protocol, opposite, by_hash=True)
    except CkptbenchError as error:  # a report without texts is better than none
        missing = f"{error.where}: {error.what}"
    if chosen and not rows and not missing:
        missing = f"{plan.result.path} keeps no texts of its samples"
    samples = [
        FlippedSample(change, rows[key], references.get(key))
        for key, change in chosen.items()
        if key in rows
    ]
    return FlipGroup(
        plan.checkpoint,
        plan.benchmark,
        plan.protocol,
        plan.metric,
        plan.reference,
        lost,
        won,
        tuple(sorted(samples, key=lambda sample: sample.change)),
        missing,
    )


def _fair_share(wanted: Mapping[str, str], share: int) -> dict[str, str]:
    """At most `share` of the samples: half of it for each change, what one leaves to the other."""
    lost = [key for key, change in wanted.items() if change == "lost"]
    won = [key for key, change in wanted.items() if change == "won"]
    half = share // 2
    of_lost = min(len(lost), max(share - half, share - len(won)))
    shown = lost[:of_lost] + won[: share - of_lost]
    return {key: wanted[key] for key in shown}


def _rows(
    rows: Iterable[SampleRow], protocol: str, wanted: Mapping[str, str], *, by_hash: bool
) -> dict[str, SampleRow]:
    """The sample rows that show the change: of several trials one that was missed, or passed."""
    found: dict[str, SampleRow] = {}
    keys: dict[str, str] = {}  # by hash: a node id names the first trial of its sample only
    for row in rows:
        if row.protocol != protocol:
            continue
        key = row.hash if by_hash else keys.get(row.hash, row.nodeid)
        if key not in wanted:
            continue
        keys[row.hash] = key
        shows = row.status == ("missed" if wanted[key] == "lost" else "passed")
        if key not in found or (shows and found[key].status != row.status):
            found[key] = row
    return found
