"""The run of one session: its folder, store and log, and what plugins and fixtures see of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from logging import Handler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from .._util.errors import CkptbenchError
from .._util.jsonio import JSON
from ..api.requests import Answer
from ..api.sample import Sample
from ..checkpoints.found import CheckpointParam
from ..config.options import Options
from ..readers.result import Samples, no_samples
from ..results import log
from ..results.answers import decode
from ..results.earlier import earlier_runs
from ..results.integrity import set_aside
from ..results.layout import STORE, server_log
from ..results.lease import BEAT_S, Lease
from ..results.outcome import Outcomes
from ..results.store import RunStore
from ..results.summary import BenchmarkResult, CheckpointResult, Summary

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions
    from .early import EarlyDecision

CONTEXT: pytest.StashKey[RunContext] = pytest.StashKey()


@dataclass(eq=False)
class Run:
    """One run, shared by the main process and its workers through the store.

    Attributes:
        options: of the session.
        folder: `results/<run-id>`, below pytest's invocation directory unless absolute.
        worker: name of the pytest-xdist worker this process is; empty in the main process.
        workers: how many workers the session has; 0 without pytest-xdist.
        checkpoints: in the order in which they are asked; empty when a conftest brings an engine.
        token: distinguishes this session's plan from an earlier one with the same run id.
        process: id of the main process.
        started: seconds since the epoch.
        outcomes: of the items that reported so far, in the main process.
        notes: sentences for the readers of the scores.
        task_results: by checkpoint, lm-eval's own results of its tasks.
        refused: nothing was asked, because of an option; folders that are new are then removed.
        early: decides which samples are not needed; None where all are asked, and in a worker.
    """

    options: Options
    folder: Path
    worker: str = ""
    workers: int = 0
    checkpoints: tuple[CheckpointParam, ...] = ()
    token: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=time.time)
    outcomes: Outcomes = field(default_factory=Outcomes)
    notes: list[str] = field(default_factory=list)
    task_results: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: bool = False
    early: EarlyDecision | None = None
    _clock: float = field(default_factory=time.monotonic)
    _store: RunStore | None = None
    _unopened: CkptbenchError | None = None
    process: int = field(default_factory=os.getpid)
    _log: Handler | None = None
    _closing: threading.Event | None = None
    _new: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.worker:
            self._new = tuple(f for f in (self.folder, *self.folder.parents) if not f.exists())

    @property
    def seconds(self) -> float:
        """Seconds since the start, whatever happens to the time of day."""
        return time.monotonic() - self._clock

    @property
    def started_iso(self) -> str:
        """The local time of the start, ISO 8601."""
        return datetime.fromtimestamp(self.started).astimezone().isoformat(timespec="seconds")

    @property
    def store(self) -> RunStore:
        """The run's store, opened when it is first needed.

        Raises:
            CkptbenchError: it cannot be opened, as on a full disk.
        """
        if self._store is None:
            resume, folder = not self.options.no_resume, self.folder
            known = (*set_aside(folder), *earlier_runs(folder.parent, folder.name))
            earlier = known if resume else ()
            try:
                self._store = RunStore(folder, earlier=earlier, session=self.token)
            except CkptbenchError as error:
                self._unopened = error
                raise
            self._log = log.begin(self.folder, self.worker)
        return self._store

    @property
    def planned(self) -> bool:
        """Whether this session, here or in a worker, has stored a plan."""
        return self._can_be_read and self.store.token() == self.token

    @property
    def _can_be_read(self) -> bool:
        # A store that is open can be read, even where its folder was removed. One that could not
        # be opened is not tried again, which would only fail once more.
        there = (self.folder / STORE).exists()
        return self._store is not None or (there and self._unopened is None)

    @property
    def taken_over(self) -> bool:
        """Whether another session works in this one's folder: this one had stopped for long."""
        return self._closing is not None and not self.planned

    def keep_lease(self) -> None:
        """Give signs of life until `close`, in the main process."""
        if self._closing is not None:
            return
        self._closing = closing = threading.Event()
        store = self.store

        def beat() -> None:
            while not closing.wait(BEAT_S):
                store.beat(self.lease)

        threading.Thread(target=beat, name="ckptbench_lease", daemon=True).start()

    @property
    def lease(self) -> Lease:
        """On the run's folder; workers share the main process's."""
        return Lease.now(self.token, self.process)

    def _has_no_answer(self) -> bool:
        """Whether the store holds nothing but this session's plan, or not even that."""
        if self._can_be_read:
            # Another session may be about to write its plan into a store that this one left alone.
            tokens = {self.token} if self._store is None else {self.token, ""}
            with suppress(CkptbenchError):
                return self.store.token() in tokens and not self.store.unreported(())
        cause = None if self._unopened is None else self._unopened.__cause__
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_BUSY)
        return code & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)  # by another session

    def close(self) -> None:
        """Give the lease back, and close the store and the log."""
        useless = self.refused and self._new and self._has_no_answer()
        if self._closing is not None:
            self._closing.set()
            self.store.release(self.lease)
            self._closing = None
        if self._log is not None:
            log.end(self._log)
            self._log = None
        if self._store is not None:
            self._store.close()
            self._store = None
        # What a server printed that did not start is still to be read.
        if useless and not any(self.folder.glob(server_log(Path(), "*").name)):
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):  # somebody else's run began in it
                for folder in self._new[1:]:
                    folder.rmdir()


@dataclass(frozen=True, slots=True)
class RunResult:
    """What is shown at the end of a session.

    Attributes:
        summary: None when there is none: nothing was asked, or the store could not be read.
        failure: why the store could not be read; empty when it was.
        conclusions: of several checkpoints together; None for a single one.
        samples: reads the run's samples from the store.
        reports: the files of the report.
    """

    summary: Summary | None = None
    failure: str = ""
    conclusions: Conclusions | None = None
    samples: Samples = no_samples
    reports: tuple[Path, ...] = ()


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

    def server_log(self, checkpoint: str) -> Path:
        """The file that gets what a server prints that is started for a checkpoint, by its name."""
        return server_log(self._run.folder, checkpoint)

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
