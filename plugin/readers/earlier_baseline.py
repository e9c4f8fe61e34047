"""A run of the results folder as the baseline: the last one, or the best."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .._util.errors import CkptbenchError
from ..config.options import Options
from ..results.summary import CheckpointResult, Summary
from ..scores.composite import METRIC
from ..scores.score import Score
from .run import finished_runs

NAMES = ("last", "best")


def with_named_baseline(options: Options, directory: Path) -> Options:
    """With the folder of the run that `last` or `best` is, unless a file has that name.

    Raises:
        CkptbenchError: there is no such run.
    """
    name = str(options.baseline)
    if name not in NAMES or (directory / name).exists():
        return options
    found = named_baseline(name, directory / options.results_dir, options.run_id)
    return replace(options, baseline=Path(options.results_dir, found.name))


def named_baseline(name: str, results: Path, own: str) -> Path:
    """The folder of a complete run of one checkpoint.

    `last` is the run that began last. `best` has the highest composite, or, where the last run has
    none, the best value of that run's first gated metric, among the runs that measured the same
    samples and have every gated metric of it.

    Args:
        name: one of `NAMES`.
        results: the folder of runs.
        own: the run that is compared, which is not its own baseline.

    Raises:
        CkptbenchError: there is no such run.
    """
    found = [
        (folder, summary.checkpoints[0])
        for folder, summary in finished_runs(results)
        if folder.name != own and len(summary.checkpoints) == 1 and _is_whole(summary)
    ]
    if not found:
        raise CkptbenchError(
            f"--baseline={name}: no complete run of one checkpoint is there to compare with",
            where=str(results),
            remedy="run once without --baseline, or give a file",
        )
    last, measured = found[-1]
    if name == "last":
        return last
    wanted = _by_metric(measured)
    if not wanted:
        return last
    deciding = next(iter(wanted))
    metrics = {folder: _by_metric(each) for folder, each in found}
    alike = [folder for folder, each in metrics.items() if wanted.keys() <= each.keys()]
    return max(alike, key=lambda folder: _merit(metrics[folder][deciding]))


def _is_whole(summary: Summary) -> bool:
    """Whether all samples were asked: the run is complete, no shard, and was not decided early."""
    results = [result for checkpoint in summary.checkpoints for result in checkpoint.benchmarks]
    decided = any(result.coverage.not_needed for result in results)
    return summary.complete and "shard" not in summary.given and not decided


def _by_metric(checkpoint: CheckpointResult) -> dict[tuple[str, ...], Score]:
    """The composite by its weights, then the gated scores by protocol, samples and metric."""
    found: dict[tuple[str, ...], Score] = {}
    composite = checkpoint.composite
    if composite is not None and composite.score.value is not None:
        found[METRIC, str(sorted(composite.weights.items()))] = composite.score
    for bench in checkpoint.benchmarks:
        for score in bench.scores if bench.primary else ():
            if score.gated and score.value is not None and score.higher_is_better is not None:
                found[bench.protocol, bench.dataset.hash, score.metric] = score
    return found


def _merit(score: Score) -> float:
    assert score.value is not None
    return score.value if score.higher_is_better else -score.value
