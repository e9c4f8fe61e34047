"""Where a score's standard error comes from: the draw of answers, and the choice of problems.

A score over n samples with several trials each varies for two reasons: other answers might have
been drawn for the same problems, and other problems might have been chosen (Miller 2024, "Adding
Error Bars to Evals", arXiv 2411.00640, section 3; "Measuring all the noises of LLM evals", arXiv
2512.21326). With sample values m_i of t_i trials, the law of total variance gives

    se^2 = draw + problems,    draw = sum_i v_i(t_i) / n^2,

where v_i(t) is the variance of m_i over repeated draws of t trials of the same problem. It is
estimated without bias from the trials themselves, whatever their number:

- a mean of values: s_i^2 / t, with s_i^2 the variance of the trials (divided by t_i - 1);
- pass@k: with f_i of the t_i trials failed, C(f_i, m) / C(t_i, m) is the unbiased estimate of
  q_i^m, q_i the chance that a trial fails. The estimator C(f, k) / C(t, k) of q^k is a mean over
  subsets of k trials; two of these overlap in j trials with the hypergeometric probability h_j, so
  its variance is sum_j h_j q^(2k - j) - q^(2k), and each power has its unbiased estimate. That
  needs t_i >= 2k trials. For k = 1 it is the formula above.

A sample with too few trials for an estimate has the mean of the others': how many trials a sample
has must not depend on what its answers were.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import comb, fsum, sqrt

import numpy as np

from .aggregate import TrialValue, rows_by_sample
from .intervals import cluster_standard_error, partition, share_interval
from .reducers import FirstChoice, Mean, Named, PassAtK, TopK, estimate_pass_at_k, perplexities_of
from .score import Noise, NoiseFloor, Reducer

# Trials can nearly always be added, problems have to be written: more trials are recommended where
# twice as many leave at most this much more error than twice the problems would.
_NEARLY_AS_GOOD = 1.05
OTHER_SEED = 1_000_003  # far from the seeds that a user gives to consecutive runs
_MOST_AT_ONCE = 7
_ROUNDING_DTYPES = ("bf16", "fp16")


def variance_of_mean(values: Sequence[float], trials: int) -> float | None:
    """Unbiased estimate of the variance that the mean of `trials` draws has.

    Args:
        values: of the trials of one sample.

    Returns:
        In squared units of the values; None for fewer than two values.
    """
    if len(values) < 2:
        return None
    return float(np.var(values, ddof=1)) / trials


def variance_of_pass_at_k(n: int, c: int, k: int, trials: int) -> float | None:
    """Unbiased estimate of the variance that pass@k of one problem has over draws of its trials.

    Args:
        n: trials of the problem.
        c: trials that passed.
        trials: how many trials the variance is of; n, or another number, at least k.

    Returns:
        A squared fraction, below 0 by chance where the variance is small; None for n < 2k.

    Raises:
        ValueError: not `0 <= c <= n`, `k < 1`, or `trials < k`.
    """
    if not 0 <= c <= n or k < 1 or trials < k:
        raise ValueError(f"expected 0 <= c <= n and 1 <= k <= trials: {n=}, {c=}, {k=}, {trials=}")
    if n < 2 * k:
        return None
    failed = n - c

    def power(m: int) -> float:
        return comb(failed, m) / comb(n, m)

    pairs = comb(trials, k)
    square = fsum(
        comb(k, j) * comb(trials - k, k - j) / pairs * power(2 * k - j) for j in range(k + 1)
    )
    return square - power(2 * k)


def noise_of(
    trials: Sequence[TrialValue], reducer: Reducer, benchmark: str, metrics: Collection[str]
) -> tuple[Noise, ...]:
    """Where the errors of a benchmark's metrics come from, in the order of the metrics.

    Metrics without an estimate are left out: all of them with one trial a sample, pass@k with
    fewer than 2k trials, perplexities, and those of a reducer that is not ours.

    Args:
        trials: the scored trials; one that comes twice was run again: the later one counts.
        metrics: those that are shown.
    """
    if not any(trial.trial for trial in trials):
        return ()  # the first of each sample alone
    by_sample, clusters = rows_by_sample(trials)
    rows = list(by_sample.values())
    if max(map(len, rows), default=0) < 2:
        return ()
    found: list[Noise | None] = []
    if isinstance(reducer, PassAtK):
        counts = [(len(row), sum(value >= 1.0 for (value,) in row)) for row in rows]
        found = [noise_of_passes(counts, clusters, k) for k in reducer.at]
    elif isinstance(reducer, TopK | Mean | Named | FirstChoice):
        perplexities = perplexities_of(reducer, benchmark)
        for index, metric in enumerate(reducer.metrics(benchmark)):
            if metric not in perplexities:
                column = [[values[index] for values in row] for row in rows]
                found.append(noise_of_values(metric, column, clusters))
    return tuple(noise for noise in found if noise is not None and noise.metric in metrics)


def noise_of_values(
    metric: str, values: Sequence[Sequence[float]], clusters: Sequence[str]
) -> Noise | None:
    """Where the error of a mean over samples of means over trials comes from.

    Args:
        values: of n samples, the value of each trial.
        clusters: n cluster names.
    """
    means = [fsum(row) / len(row) for row in values]
    return _noise(
        metric,
        means,
        clusters,
        [len(row) for row in values],
        lambda index, trials: variance_of_mean(values[index], trials),
        sum(len(row) > 1 for row in values),
    )


def noise_of_passes(
    counts: Sequence[tuple[int, int]], clusters: Sequence[str], k: int
) -> Noise | None:
    """Where the error of pass@k comes from.

    Args:
        counts: of n problems, `(trials, passed trials)`.
        clusters: n cluster names.
    """
    values = [estimate_pass_at_k(n, c, k) for n, c in counts]
    means = [value for value in values if value is not None]
    if len(means) < len(counts):
        return None
    return _noise(
        f"pass@{k}",
        means,
        clusters,
        [n for n, _ in counts],
        lambda index, trials: variance_of_pass_at_k(*counts[index], k, trials),
        sum(n >= 2 * k for n, _ in counts),
    )


def draw_variance(
    trials: Sequence[int], variance: Callable[[int, int], float | None], times: int = 1
) -> float | None:
    """The variance of the mean over n samples that comes from the draw: `sum_i v_i(t_i) / n^2`.

    Unbiased, also where samples have different numbers of trials.

    Args:
        trials: of n samples, their number of trials.
        variance: `(sample, t)` to the estimated variance of its value with t trials; None where
            its own trials are too few for an estimate.
        times: factor on the numbers of trials.

    Returns:
        In squared units of the values; None where no sample has an estimate.
    """
    total = 0.0
    unknown: Counter[int] = Counter()
    known = []
    for index, number in enumerate(trials):
        own = variance(index, times * number)
        if own is None:
            unknown[times * number] += 1
        else:
            known.append(index)
            total += own
    if not known:
        return None
    for number, how_many in unknown.items():
        others = [variance(index, number) for index in known]
        total += how_many * fsum(v for v in others if v is not None) / len(known)
    return total / len(trials) ** 2


def _noise(
    metric: str,
    means: Sequence[float],
    clusters: Sequence[str],
    trials: Sequence[int],
    variance: Callable[[int, int], float | None],
    estimable: int,
) -> Noise | None:
    error = cluster_standard_error(np.asarray(means, np.float64), partition(clusters))
    # The trials of one sample tell nothing of the others'.
    if not error or estimable < 2 or not np.isfinite(error):
        return None
    now, later = draw_variance(trials, variance), draw_variance(trials, variance, times=2)
    if now is None or later is None:
        return None
    # By chance the draw may be estimated below nothing, or above all of the error.
    share = min(max(now / error**2, 0.0), 1.0)
    left = min(max(later / now, 0.0), 1.0) if now > 0 else 1.0
    twice_trials = error * sqrt(1 - share + share * left)
    twice_problems = error / sqrt(2)
    more_trials = twice_trials <= _NEARLY_AS_GOOD * twice_problems
    return Noise(
        metric,
        share,
        1 - share,
        error,
        twice_trials,
        twice_problems,
        "more trials" if more_trials else "more problems",
    )


def noise_floor(repeats: Iterable[tuple[bool | None, bool]]) -> NoiseFloor | None:
    """The floor, from samples that were asked again.

    Args:
        repeats: `(flipped, other batch size)` of each; None for one without a second answer.

    Returns:
        None when no sample was asked again.
    """
    answers = list(repeats)
    if not answers:
        return None
    known = [flipped for flipped, _ in answers if flipped is not None]
    n, flipped = len(known), sum(known)
    interval = share_interval(flipped / n, n) if n else None
    other = any(batch for _, batch in answers)
    return NoiseFloor(n, flipped, interval, len(answers) - n, other)


def may_flip(reducer: Reducer) -> bool:
    """Whether samples can be missed at all: where only values are given, every answer passes."""
    return not (isinstance(reducer, Named) and not reducer.decides)


def floor_notes(
    groups: Sequence[tuple[str, Reducer, Sequence[object]]],
    settings: Mapping[str, object],
    temperature: float,
    number: int | None,
) -> tuple[str, ...]:
    """Sentences on the floors of one checkpoint that are not known and matter.

    Args:
        groups: of each benchmark: its protocol, its reducer, and the samples asked again.
        settings: of the engine; `dtype` is looked at.
        number: of `--noise-floor`; None without it.
    """
    lacking = [(protocol, reducer) for protocol, reducer, repeats in groups if not repeats]
    if number is not None:
        no_miss = "an answer gives values and is never missed"
        return tuple(
            f"{protocol}: noise floor not measured: "
            + ("no sample was asked again" if may_flip(reducer) else no_miss)
            for protocol, reducer in lacking
        )
    dtype = settings.get("dtype")
    # Where answers are drawn, the draw is the larger part and several trials show it.
    may_miss = any(may_flip(reducer) for _, reducer in lacking)
    if dtype not in _ROUNDING_DTYPES or temperature or not may_miss:
        return ()
    return (
        f"{dtype} rounds differently in batches of other sizes; how many outcomes that flips was "
        "not measured: --noise-floor=100 asks 100 samples of each benchmark again",
    )


def drawn(samples: Iterable[str], number: int, seed: int) -> list[str]:
    """`number` of the samples at random, or all where there are fewer.

    The choice depends on which samples there are and on the seed, not on their order.
    """
    known: Sequence[str] = sorted(set(samples))
    return random.Random(f"noise floor {seed}").sample(known, min(number, len(known)))


def other_batch_size(usual: int) -> int:
    """Requests that an engine gets at once the second time.

    Args:
        usual: how many it got at once the first time, at most.
    """
    return max(1, min(_MOST_AT_ONCE, usual // 2))
