"""What plugins and fixtures get of a pytest session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from .._util.jsonio import JSON
from ..api.requests import Answer
from ..api.sample import Sample
from ..checkpoints.param import CheckpointParam
from ..config.options import Options
from ..results.answers import decode
from ..results.summary import BenchmarkResult, CheckpointResult
from .run import Run

CONTEXT: pytest.StashKey[RunContext] = pytest.StashKey()


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """How one trial of a sample went.

    Attributes:
        response: what the engine answered; None without an answer.
        status: `passed`, `missed`, `skipped`, `error` or `not_run`.
    """

    sample: Sample
    trial: int
    response: Answer | None
    status: str


@dataclass(frozen=True, slots=True)
class RunContext:
    """A session's options, its checkpoints and its answers, to read; and a way to add notes."""

    _run: Run

    @property
    def options(self) -> Options:
        """The session's options."""
        return self._run.options

    @property
    def checkpoints(self) -> tuple[CheckpointParam, ...]:
        """The session's checkpoints, in the order in which they are asked."""
        return self._run.checkpoints

    def add_note(self, note: str) -> None:
        """Add a sentence for the readers of the scores; each is shown once."""
        self._run.notes.append(note)

    def answers(
        self, checkpoint: CheckpointResult, benchmark: BenchmarkResult
    ) -> Iterator[SampleAnswer]:
        """The answers that a benchmark's result was made of, one in memory at a time."""
        store, outcomes = self._run.store, self._run.outcomes.by_nodeid
        for number, group in enumerate(store.groups()):
            if group.key != (checkpoint.name, benchmark.protocol):
                continue
            for item, fields, response in store.answered(number):
                recorded = outcomes.get(item.nodeid)
                yield SampleAnswer(
                    Sample(item.id, json.loads(fields), hash=item.sample),
                    item.trial,
                    None if response is None else decode(response),
                    "not_run" if recorded is None else recorded.status,
                )

    def keep_task_results(self, checkpoint: CheckpointResult, results: Mapping[str, JSON]) -> None:
        """Write lm-eval's own results of a checkpoint's tasks beside the run's files."""
        self._run.task_results[checkpoint.name] = dict(results)


def run_context(config: pytest.Config) -> RunContext | None:
    """The session of a pytest configuration; None where the plugin is switched off."""
    return config.stash.get(CONTEXT, None)
