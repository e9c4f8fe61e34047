"""Several runs side by side: at equal epochs, and each one's best against the other's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from .._util.language import stored, tr
from ..gate.measurement import Measurement
from ..gate.units import size
from ..gate.verdict import Comparison, holm
from .compare import Settings, answer, best_by, clash, compare, corrected
from .conclusions import EACH_BEST, Answer, RunsCompared
from .eligibility import eligible, epoch_key, in_order, metrics_of
from .wording import evidence, figures, named, sensitivity

# Comparisons at equal epochs before only the last common epoch is looked at: the paired ones of
# twenty checkpoints take a second or two, those of ten such runs would take minutes.
MOST_AT_EPOCHS = 240

Runs = Mapping[str, tuple[Measurement, ...]]


def group_runs(measurements: Sequence[Measurement]) -> dict[str, tuple[Measurement, ...]]:
    """Checkpoints by training run, the earliest first; runs in the order they first appear.

    A run's name with several sequence lengths is several runs, named such as
    `mlm_v2 (seq_len 1536)`.
    """
    lengths: dict[str, set[int | None]] = {}
    for each in measurements:
        lengths.setdefault(each.run, set()).add(each.seq_len)
    groups: dict[str, list[Measurement]] = {}
    for each in measurements:
        name = each.run
        if len(lengths[name]) > 1:
            length = f"seq_len {each.seq_len if each.seq_len is not None else 'unknown'}"
            name = f"{name} ({length})" if name else length
        groups.setdefault(name, []).append(each)
    return {name: in_order(used) for name, used in groups.items()}


def compare_runs(runs: Runs, settings: Settings) -> tuple[RunsCompared, ...]:
    """Compare each pair of runs in each metric that both have.

    - At equal epochs (equal steps where epochs are not known): Holm's correction over the epochs
      of the pair. With very many comparisons, only the last epoch that both have.
    - Each one's best against the other's: the better one was selected among the checkpoints of its
      run, so the p is multiplied by their number; then Holm's correction over the pairs of runs.
      The probability of a false difference between any two runs stays at most alpha.

    Tests are two-sided and paired by sample where both have samples.
    """
    compared: list[RunsCompared] = []
    metrics = metrics_of([each for used in runs.values() for each in used])
    every_epoch = at_every_epoch(runs)
    for metric in metrics:
        used = {name: eligible(metric, each, settings.weights)[0] for name, each in runs.items()}
        pairs = [
            _Pair(metric, left, right, used[left], used[right])
            for left, right in combinations(used, 2)
            if used[left] and used[right]
        ]
        for pair in pairs:
            compared.extend(_at_epochs(pair, settings, every_epoch))
        compared.extend(_best_against_best(pairs, settings))
    return tuple(compared)


def at_every_epoch(runs: Runs) -> bool:
    """Whether `compare_runs` looks at every epoch that two runs have in common."""
    common = 0
    for pair in combinations(runs.values(), 2):
        left, right = _positions(*pair)
        common += len(left.keys() & right.keys())
    metrics = metrics_of([each for used in runs.values() for each in used])
    return common * len(metrics) <= MOST_AT_EPOCHS


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs in one metric, the earliest checkpoint of each first."""

    metric: str
    left: str
    right: str
    ours: tuple[Measurement, ...]
    theirs: tuple[Measurement, ...]


def _at_epochs(pair: _Pair, settings: Settings, every: bool) -> Iterator[RunsCompared]:
    """Nothing for two single checkpoints: the best against the best says the same."""
    if len(pair.ours) == len(pair.theirs) == 1:
        return
    ours, theirs = _positions(pair.ours, pair.theirs)
    common = [key for key in ours if key in theirs]
    chosen = common if every else common[-1:]
    found = [
        (key, compare(pair.metric, ours[key], theirs[key], settings, choices=len(chosen)))
        for key in chosen
        if clash(pair.metric, ours[key], theirs[key], settings.weights) is None
    ]
    adjusted = holm([each.p_value if each is not None else None for _, each in found])
    for (key, comparison), p in zip(found, adjusted, strict=True):
        yield _decided(pair, key, ours[key], theirs[key], comparison, p, settings)


def _best_against_best(pairs: Sequence[_Pair], settings: Settings) -> Iterator[RunsCompared]:
    found = []
    for pair in pairs:
        ours, theirs = best_by(pair.metric, pair.ours), best_by(pair.metric, pair.theirs)
        # The level of a winner of the larger run: the smallest effect that is sure to be seen.
        choices = max(len(pair.ours), len(pair.theirs)) * len(pairs)
        comparison = compare(pair.metric, ours, theirs, settings, choices=choices)
        ahead = pair.ours if comparison is not None and comparison.improvement > 0 else pair.theirs
        found.append((pair, ours, theirs, comparison, corrected(comparison, len(ahead))))
    adjusted = holm([p for *_, p in found])
    for (pair, ours, theirs, comparison, _), p in zip(found, adjusted, strict=True):
        yield _decided(pair, EACH_BEST, ours, theirs, comparison, p, settings)


def _decided(
    pair: _Pair,
    at: str,
    ours: Measurement,
    theirs: Measurement,
    comparison: Comparison | None,
    p: float | None,
    settings: Settings,
) -> RunsCompared:
    metric, left, right = pair.metric, pair.left, pair.right
    which = tr("{left} against {right}", left=named(ours), right=named(theirs))
    where = f"{metric}, {stored(at)}, {which}"
    both = {"left": left, "right": right}
    differ: Answer = "cannot tell"
    if comparison is None:
        protocols = clash(metric, ours, theirs, settings.weights)
        why = tr("they have no sample in common")
        if protocols:
            why = tr(
                "{first} and {second} are two different measurements",
                first=protocols[0],
                second=protocols[1],
            )
        detail = tr("{left} and {right} are not compared in ", **both)
        detail += f"{metric}, {which}: {why}"
    elif (differ := answer(comparison, p, settings)) == "yes":
        first, second = (left, right) if comparison.improvement > 0 else (right, left)
        by = size(comparison.difference, comparison.unit)
        detail = tr("{first} beats {second} by {by} in ", first=first, second=second, by=by)
        detail += f"{where} ({evidence(comparison, p)})"
    else:
        detail = tr("{left} and {right} are statistically tied in ", **both)
        if comparison.p_value is None:
            detail = tr("{left} and {right} are not tested in ", **both)
        elif differ == "no":
            detail = tr("{left} and {right} hardly differ in ", **both)
        shown = figures(comparison, p) + sensitivity(metric, comparison, ours, theirs)
        detail += f"{where}: {shown}"
    names = left, right, at, ours.name, theirs.name
    return RunsCompared(metric, *names, comparison, differ, detail, p)


def _positions(
    ours: Sequence[Measurement], theirs: Sequence[Measurement]
) -> tuple[dict[str, Measurement], dict[str, Measurement]]:
    """Checkpoints by `epoch 3` or else `step 400`; of several with the same one the last."""
    everyone = [*ours, *theirs]
    epochs = all(each.epoch is not None for each in everyone)
    if not epochs and any(each.step is None for each in everyone):
        return {}, {}

    def by_position(checkpoints: Sequence[Measurement]) -> dict[str, Measurement]:
        return {
            f"epoch {epoch_key(each):g}" if epochs else f"step {each.step}": each
            for each in checkpoints
        }

    return by_position(ours), by_position(theirs)
