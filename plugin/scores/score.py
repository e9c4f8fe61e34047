"""The shape of a score, and of the table it is folded from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from .metric import SHARE, Metric, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Score:
    """A number with what is needed to believe it.

    Attributes:
        metric: name, such as `real@1`.
        value: a fraction (0.6778) for proportions; None when it does not exist.
        n: samples it was computed over.
        clusters: independent groups among them.
        standard_error: in the unit of `value`; None when it cannot be estimated.
        interval: 95% interval `(low, high)` in the unit of `value`, or None.
        method: how the interval was made: `korn-graubard` (shares and bounded values), `hall-t`
            (values without bounds), `log-hall-t` (of the mean logarithm), `mover` (composites);
            of sources that state numbers only `normal` or `upper-bound`.
        reason: why `value`, or else `standard_error`, or else `interval`, is None; empty otherwise.
        unit: of `value`; see `metric.Unit`.
        higher_is_better: None when not known: the metric is shown and not compared.
        gated: whether it is gated unless `--gate-on` says otherwise.
    """

    metric: str
    value: float | None
    n: int
    clusters: int
    standard_error: float | None = None
    interval: tuple[float, float] | None = None
    method: str = ""
    reason: str = ""
    unit: Unit = "share"
    higher_is_better: bool | None = True
    gated: bool = True

    @property
    def share(self) -> bool:
        """Whether `value` is a fraction between 0 and 1."""
        return self.unit == "share"

    def of(self, metric: Metric) -> Score:
        """The same number with a metric's meaning."""
        return replace(
            self, unit=metric.unit, higher_is_better=metric.higher_is_better, gated=metric.gated
        )


@dataclass(frozen=True, slots=True)
class SampleValues:
    """The values of every scored sample: the table that scores and comparisons are made of.

    Attributes:
        metrics: m column names.
        samples: n content hashes, each once.
        clusters: n cluster names.
        values: float64 `[n, m]`; a sample's value of a metric, NaN where it does not exist.
        perplexities: metrics whose values are natural-log likelihoods `x`; their score is
            `exp(-mean(x))`.
        trials: how many answers each sample's values were reduced from, `[n]`; empty where that
            is not known.
        kinds: what the metrics mean; one without an entry is a share: more is better.
        by_name: whether the benchmark names the values that it gives for a sample: then one
            without a value of some metric does not count for that metric.
    """

    metrics: tuple[str, ...]
    samples: tuple[str, ...]
    clusters: tuple[str, ...]
    values: NDArray[np.float64]
    perplexities: tuple[str, ...] = ()
    by_name: bool = False
    kinds: Mapping[str, Metric] = field(default_factory=dict)
    trials: tuple[int, ...] = ()

    def kind(self, metric: str) -> Metric:
        """What a metric means."""
        return self.kinds.get(metric, SHARE)


class Reducer(Protocol):
    """Folds the trials of one sample into its value of each metric.

    Attributes:
        ks: what the benchmark function is called with as `k`; empty when it takes none.
        takes_k: whether `with_ks` changes anything.
        several_trials: whether several answers are drawn for a sample.
    """

    @property
    def ks(self) -> tuple[int, ...]: ...

    @property
    def takes_k(self) -> bool: ...

    @property
    def several_trials(self) -> bool: ...

    def with_ks(self, ks: tuple[int, ...]) -> Reducer:
        """The same reducer for other values of k."""
        ...

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """Metric names of a benchmark, in the order of `reduce`'s values."""
        ...

    def reduce(self, trials: Sequence[Sequence[float]]) -> tuple[float | None, ...]:
        """One value a metric, from one row a trial: a value for each k (or one value without k).

        None where the metric does not exist for so few trials.
        """
        ...


Remedy = Literal["more problems", "more trials"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Where the standard error of one metric comes from.

    Attributes:
        metric: name, such as `pass@1`.
        share_of_draw: of the squared standard error, the fraction that comes from which answers
            were drawn.
        share_of_problems: the rest: from which problems, and clusters of them, were chosen.
        se_now: standard error of the score, in its unit.
        se_twice_trials: expected with twice the trials of the same problems.
        se_twice_problems: expected with twice the problems of as many trials each.
        remedy: what shrinks the error most for the same number of answers. Twice the problems
            never leave more error than twice the trials; `more trials` is recommended where they
            leave hardly more (5%), as problems have to be found.
    """

    metric: str
    share_of_draw: float
    share_of_problems: float
    se_now: float
    se_twice_trials: float
    se_twice_problems: float
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How many outcomes flipped when some samples were asked again.

    Attributes:
        samples: how many have both outcomes.
        flipped: those that passed once and were missed once.
        interval: 95% interval of the share that flips; see `intervals.share_interval`.
        unanswered: samples whose second answer was none.
        other_batch_size: whether the engine got them in batches of another size; not where every
            batch is one request.
    """

    samples: int
    flipped: int
    interval: tuple[float, float] | None
    unanswered: int
    other_batch_size: bool
