"""Parts of a result as text: coverage, settings, flips, noise, missing packages."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .._util import text
from .._util.jsonio import Scalar
from .._util.language import counted, stored, tr
from .._util.text import count, number, percent
from ..gate import units
from ..results.summary import BenchmarkResult, CheckpointResult, Coverage, Summary

_NO_MODULE = re.compile(r"ModuleNotFoundError[^:]*: No module named '([^'.]+)")
_PACKAGES_NAMED = 5


def coverage(facts: Coverage) -> str:
    """`2,380 of 2,400 scored, 20 skipped (20 first_mention_out_of_window), 3 errors`."""
    parts = [tr("{n} of {of} scored", n=count(facts.scored), of=count(facts.planned))]
    if skipped := sum(facts.skipped.values()):
        reasons = ", ".join(f"{count(n)} {why}" for why, n in sorted(facts.skipped.items()) if n)
        parts.append(tr("{n} skipped ({reasons})", n=count(skipped), reasons=reasons))
    counts = facts.scored + sum(facts.skipped.values()) + facts.errors + facts.not_run
    if facts.errors and counts > facts.planned:
        # A sample of several trials can be scored by those that were answered.
        parts.append(tr("{n} with errors in some trials", n=count(facts.errors)))
    elif facts.errors:
        parts.append(counted(facts.errors, "error"))
    if facts.not_needed:
        parts.append(tr("{n} not needed", n=count(facts.not_needed)))
    if facts.not_run:
        parts.append(tr("{n} not run", n=count(facts.not_run)))
    if facts.reachable is not None:
        share = f" ({percent(facts.reachable / facts.planned)})" if facts.planned else ""
        parts.append(tr("{n} reachable", n=count(facts.reachable)) + share)
    return ", ".join(parts)


def settings(values: Mapping[str, Scalar]) -> str:
    """`dtype fp32, seq_len 512`."""
    return ", ".join(
        f"{name} {tr('none') if value in (None, '') else value}"
        for name, value in sorted(values.items())
    )


def answering(*checkpoints: CheckpointResult) -> str:
    """`12.3 s, 3,200 answers computed, 0 reused`, over all checkpoints."""
    asked, reused = sum(c.asked for c in checkpoints), sum(c.reused for c in checkpoints)
    seconds = sum(c.seconds for c in checkpoints)
    return tr(
        "{seconds} s, {asked} answers computed, {reused} reused",
        seconds=f"{seconds:.1f}",
        asked=count(asked),
        reused=count(reused),
    )


def bill(checkpoint: CheckpointResult) -> str:
    """`3.1 GPU s, 45,000 tokens read, 0 written`, of the run; empty where it is not recorded."""
    cost = checkpoint.spent
    if cost is None:
        return ""
    parts = [tr("{seconds} s", seconds=f"{cost.seconds:.1f}")]
    if cost.gpu_seconds:  # 0 on a processor
        parts.append(tr("{seconds} GPU s", seconds=f"{cost.gpu_seconds:.1f}"))
    if cost.tokens_read is not None and cost.tokens_written is not None:
        read, written = count(cost.tokens_read), count(cost.tokens_written)
        parts.append(tr("{read} tokens read, {written} written", read=read, written=written))
    if saved := sum(bench.coverage.not_needed for bench in checkpoint.benchmarks):
        parts.append(tr("{n} not needed", n=count(saved)))
    if cost.unknown:
        parts.append(tr("not known: {why}", why=stored(cost.unknown)))
    return ", ".join(parts)


def flips_heading(result: BenchmarkResult) -> str:
    """`flips at real@1: 38 lost, 9 won`; flips are those of the first metric."""
    metric = result.scores[0].metric if result.scores else tr("the first metric")
    changes = [flip.change for flip in result.flips]
    lost, won = changes.count("lost"), changes.count("won")
    for verdict in result.verdicts:
        figures = verdict.comparison
        if verdict.metric == metric and figures and figures.lost is not None:
            lost, won = figures.lost, figures.won or 0
    return tr(
        "flips at {metric}: {lost} lost, {won} won", metric=metric, lost=count(lost), won=count(won)
    )


def comparison_notes(result: BenchmarkResult) -> tuple[str, ...]:
    """Notes on comparisons that are not of all samples, each with the metrics that it is about."""
    notes: dict[str, list[str]] = {}
    samples = {score.metric: score.n for score in result.scores}
    for verdict in result.verdicts:
        figures = verdict.comparison
        if figures is None:
            continue
        n = samples.get(verdict.metric)
        if figures.kind == "point":
            note = tr(
                "point comparison, not tested: the baseline gives neither n nor standard error"
            )
        elif figures.kind == "unpaired":
            then = tr("not known") if figures.baseline_n is None else count(figures.baseline_n)
            note = tr("unpaired comparison: the baseline has numbers only (its n: {n})", n=then)
        elif figures.n is not None and n is not None and figures.n < n:
            note = tr(
                "compared over the {n} of {of} samples that the baseline has too",
                n=count(figures.n),
                of=count(n),
            )
        else:
            continue
        notes.setdefault(note, []).append(verdict.metric)
    return tuple(f"{', '.join(metrics)}: {note}" for note, metrics in notes.items())


def noise(result: BenchmarkResult) -> str:
    """Where the error of the first metric with several trials comes from; empty without one."""
    if not result.noise:
        return ""
    found = result.noise[0]
    share = {score.metric: score.share for score in result.scores}.get(found.metric, True)
    error = units.size if share else number
    remedy = tr("more trials shrink it nearly as much as more problems")
    if found.remedy == "more problems":
        remedy = tr("more problems shrink it most")
    return tr(
        "noise of {metric}: {draw} of the variance is the draw of answers, {problems} the choice "
        "of problems; standard error {now}, {twice_trials} with twice the trials, "
        "{twice_problems} with twice the problems: {remedy}",
        metric=found.metric,
        draw=f"{found.share_of_draw:.0%}",
        problems=f"{found.share_of_problems:.0%}",
        now=error(found.se_now),
        twice_trials=error(found.se_twice_trials),
        twice_problems=error(found.se_twice_problems),
        remedy=remedy,
    )


def noise_floor(result: BenchmarkResult) -> str:
    """How many samples flipped when they were run again; empty where none was.

    `noise floor: 1 of 100 samples flipped (0.0% to 5.5%) when run again with another seed and
    batch size`.
    """
    floor = result.floor
    if floor is None:
        return ""
    if floor.interval is None:
        samples = counted(floor.unanswered, "sample")
        return tr("noise floor: none of {samples} could be run again", samples=samples)
    low, high = (f"{100 * end:.1f}%" for end in floor.interval)
    other = tr("another seed and batch size") if floor.other_batch_size else tr("another seed")
    sentence = tr(
        "noise floor: {n} of {samples} flipped ({low} to {high}) when run again with {other}",
        n=count(floor.flipped),
        samples=counted(floor.samples, "sample"),
        low=low,
        high=high,
        other=other,
    )
    if floor.unanswered:
        sentence += tr("; {n} had no second answer", n=count(floor.unanswered))
    return sentence


def noise_floors_together(summary: Summary) -> tuple[str, ...]:
    """The floors of several checkpoints, one sentence for each gated protocol."""
    by_protocol: dict[str, list[tuple[int, int]]] = {}
    for result in (result for each in summary.checkpoints for result in each.benchmarks):
        if (floor := result.floor) is not None and result.primary:
            by_protocol.setdefault(result.protocol, []).append((floor.flipped, floor.samples))
    sentences = []
    for protocol, floors in by_protocol.items():
        most, of = max(floors, key=lambda each: each[0] / max(1, each[1]))
        flipped, samples = map(sum, zip(*floors, strict=True))
        sentences.append(
            tr(
                "noise floor of {protocol}: {n} of {samples} of {checkpoints} flipped when run "
                "again, at most {most} of {of} in one of them",
                protocol=protocol,
                n=count(flipped),
                samples=counted(samples, "sample"),
                checkpoints=counted(len(floors), "checkpoint"),
                most=count(most),
                of=count(of),
            )
        )
    return tuple(sentences)


def noise_notes(summary: Summary) -> tuple[str, ...]:
    """The noise of each benchmark of a run, with its checkpoint where there are several."""
    several = len(summary.checkpoints) > 1
    return tuple(
        f"{f'{checkpoint.name} ' if several else ''}{result.protocol}: {sentence}"
        for checkpoint in summary.checkpoints
        for result in checkpoint.benchmarks
        for sentence in (noise(result), noise_floor(result))
        if sentence
    )


def rerun_command(summary: Summary, nodeid: str) -> str:
    """A shell command that runs one item of this run again.

    Without known options it names every checkpoint of the run, because items have the checkpoint's
    name in theirs when there are several.
    """
    options: Sequence[str] = summary.rerun_options or [
        f"--checkpoint={spec}"
        for spec in dict.fromkeys(c.spec for c in summary.checkpoints)
        if spec
    ]
    path, colons, name = nodeid.partition("::")
    path = summary.rerun_paths.get(path, path)
    return shlex.join(["pytest", f"{path}{colons}{name}", *options])


def missing_packages_note(reasons: Iterable[str]) -> str:
    """How many programs lack which package, by the reasons of their failures, with a remedy.

    Empty when none is missing. It is stored with the results, in English.
    """
    missing = Counter(found[1] for found in map(_NO_MODULE.search, reasons) if found is not None)
    if not missing:
        return ""
    n = missing.total()
    common = [name for name, _ in missing.most_common(_PACKAGES_NAMED)]
    counts = text.listed((f"{p} ({count(k)})" for p, k in missing.most_common()), _PACKAGES_NAMED)
    programs = "1 program fails" if n == 1 else f"{count(n)} programs fail"
    return (
        f"{programs} for lack of a package that is not in the sandbox: {counts}; "
        f"where it is installed, --exec-libraries {','.join(common)} lets programs import it"
    )
