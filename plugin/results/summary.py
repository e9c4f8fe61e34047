"""The results of a run, from which every report is written.

`Summary` is the content of `summary.json`. The classes are frozen dataclasses; their JSON Schema is
made from them by pydantic (see `reports.schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._util.jsonio import Scalar
from ..gate.verdict import Verdict
from ..scores.score import Noise, NoiseFloor, Score
from .spent import Spent

SUMMARY_FORMAT = "ckptbench.summary/2"
OLDER_SUMMARY_FORMATS = ("ckptbench.summary/1",)
GROUP_WAY = "group-of-"
"""Begins the variant, `group-of-12`, of a protocol that is lm-eval's aggregate of tasks."""


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Where a benchmark's samples come from.

    Attributes:
        name: name in the sample file's header, or of the function that made them.
        hash: content hash over the hashes of all planned samples, whatever their order.
        source: file or corpus.
        licence: licence of the text.
    """

    name: str
    hash: str
    source: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the planned samples have an outcome; each counted in one place only.

    Attributes:
        planned: samples that the session planned, after deselection.
        scored: samples the scores are computed over.
        skipped: samples left out by the protocol's rule, by reason.
        errors: samples without a valid answer.
        not_run: samples that the session did not reach.
        reachable: planned samples whose answer is possible under the protocol; None where that is
            every one of them.
        not_needed: samples that were not asked because the verdict was decided without them.
    """

    planned: int
    scored: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    not_run: int = 0
    reachable: int | None = None
    not_needed: int = 0

    @property
    def complete(self) -> bool:
        """Whether only samples are missing that the protocol's rule left out, or not needed."""
        return not self.errors and not self.not_run

    @property
    def missing(self) -> str:
        """What it lacks: `3 of 1,600 samples are errors`; empty when it is complete."""
        counts = {"are errors": self.errors, "were not run": self.not_run}
        return ", ".join(
            f"{n:,} of {self.planned:,} samples {why}" for why, n in counts.items() if n
        )


@dataclass(frozen=True, slots=True)
class Flip:
    """A sample whose headline outcome differs from the baseline's.

    Attributes:
        nodeid: the item, ready to paste after `pytest`.
        change: `lost` or `won`.
    """

    nodeid: str
    change: str


@dataclass(frozen=True, slots=True)
class Given:
    """A setting that is not the default, and its source.

    Attributes:
        value: as it was given.
        source: `command line`, or the file and the location in it.
    """

    value: Scalar
    source: str


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """One checkpoint's result in one benchmark under one protocol.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`.
        primary: whether its scores are gated and enter the composite. Of the protocols of a
            benchmark that run side by side, only the first is.
        verdicts: one for each compared metric; empty without a baseline.
        flips: samples that changed at the first metric, lost ones first.
        errors: one line for each of the first errors: the item and its reason.
        seconds: time spent answering in this session, added over the workers that did.
        spent: what the answers cost in all sessions of the run; None where that is not recorded.
        given: settings of this benchmark that are not the defaults, such as `limit`.
        reducer: how the trials of a sample are reduced, as `scores.reducers.spec_of` writes it.
        settings: what affects what is measured, such as the temperature; see `gate.identity`.
        noise: where the standard error of a metric comes from, of the metrics whose samples have
            enough trials.
        floor: the result of running some samples again; None where none was.
    """

    benchmark: str
    protocol: str
    primary: bool
    dataset: DatasetInfo
    coverage: Coverage
    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...] = ()
    flips: tuple[Flip, ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0
    spent: Spent | None = None
    given: Mapping[str, Given] = field(default_factory=dict)
    reducer: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    noise: tuple[Noise, ...] = ()
    floor: NoiseFloor | None = None

    @property
    def is_group(self) -> bool:
        """Whether it aggregates the results of other benchmarks: it has no samples of its own."""
        return self.protocol.startswith(f"{self.benchmark}/{GROUP_WAY}")


@dataclass(frozen=True, slots=True)
class CompositeResult:
    """The weighted mean of several metrics.

    Attributes:
        weights: weight of each metric by name.
        score: its value and interval; the value is None, with the reason, when a part is missing.
        verdict: comparison with the baseline's composite, informative: it is not gated.
    """

    weights: Mapping[str, float]
    score: Score
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    """Everything measured of one checkpoint.

    Attributes:
        name: short name for files and tables, such as `checkpoint-655`.
        spec: what was given as `--checkpoint`.
        fingerprint: content hash of weights, config and tokenizer.
        settings: what else affects an answer, as the engine reports it.
        baseline: the baseline it was compared with; empty without one.
        seconds: as of a benchmark, and so is `spent`.
        asked: requests the model answered in this session.
        reused: requests answered from the run store.
        run: the training run it belongs to: the name of the folder it is in; empty where the
            checkpoint is not on a disk.
        step: optimizer steps it was trained for; None where they are not known.
        epoch: passes over the training data it was trained for; likewise.
        facts: what else the checkpoint records of its training, such as `val_loss`.
        missing: verdicts on gated metrics of the baseline that no benchmark of the run has.
        in_baseline: gated metrics of the baseline.
        compared: those of them that were compared.
    """

    name: str
    spec: str
    fingerprint: str
    settings: Mapping[str, Scalar]
    benchmarks: tuple[BenchmarkResult, ...]
    composite: CompositeResult | None = None
    baseline: str = ""
    seconds: float = 0.0
    asked: int = 0
    reused: int = 0
    spent: Spent | None = None
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    missing: tuple[Verdict, ...] = ()
    in_baseline: int = 0
    compared: int = 0

    @property
    def benchmark_names(self) -> tuple[str, ...]:
        """Every benchmark once, in the run's order."""
        return tuple(dict.fromkeys(result.benchmark for result in self.benchmarks))


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run.

    Attributes:
        run_id: folder name under the results directory.
        started: ISO 8601 time with offset.
        seconds: wall time of the session.
        complete: whether every planned sample has an outcome and none is an error.
        exit_status: what pytest exits with.
        gate: `regress`, `strict` or `off`.
        environment: versions and hardware, strings by name.
        notes: sentences for the reader, such as a metric that was left out and why.
        rerun_options: options that make the same items again, so that `pytest NODEID OPTIONS`
            runs one of them: `--checkpoint=demo-mlm`, `--real-data=boolq.jsonl`. When empty,
            reports name the checkpoints.
        rerun_paths: what names a test file on the command line, by the path that its items' names
            begin with, where the two differ: `ckptbench.benchmarks.test_real_k` with `--pyargs`,
            or a path from the folder where the run was started.
        baseline_written: file that `--update-baseline` wrote; empty when it wrote none.
        unwritten: reports of the run that could not be written, one sentence each; the results are
            on disk all the same.
        absent: items that a merged run lacks: parts asked them of another of its checkpoints.
        given: options of the session that are not the defaults.
        drawing: options for sampling answers, by name: `seed`, `num_samples`,
            `temperature`, `top_p`, `max_tokens`. Empty when it is not known.
    """

    run_id: str
    started: str
    seconds: float
    complete: bool
    exit_status: int
    gate: str
    checkpoints: tuple[CheckpointResult, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rerun_options: tuple[str, ...] = ()
    rerun_paths: Mapping[str, str] = field(default_factory=dict)
    baseline_written: str = ""
    unwritten: tuple[str, ...] = ()
    absent: int = 0
    drawing: Mapping[str, Scalar] = field(default_factory=dict)
    given: Mapping[str, Given] = field(default_factory=dict)
    format: str = SUMMARY_FORMAT
