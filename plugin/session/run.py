"""The run of one session: its folder, its store and log, and what is known of it so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from logging import Handler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..checkpoints.param import CheckpointParam
from ..config.options import Options
from ..results import log
from ..results.layout import STORE
from ..results.outcome import Outcomes
from ..results.store import RunStore, earlier_runs

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions
    from ..results.summary import Summary


@dataclass(eq=False)
class Run:
    """One run, shared by the main process and its workers through the store.

    Attributes:
        options: of the session.
        folder: `results/<run-id>`, below pytest's invocation directory unless absolute.
        worker: name of the pytest-xdist worker this process is; empty in the main process.
        workers: how many workers the session has; 0 without pytest-xdist.
        checkpoints: in the order in which they are asked; empty when a conftest brings an engine.
        token: tells this session's plan from that of an earlier one with the same run id.
        started: seconds since the epoch.
        outcomes: of the items that reported so far, in the main process.
        notes: sentences that the reader of the scores must know.
        task_results: by checkpoint, lm-eval's own results of its tasks.
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
    _store: RunStore | None = None
    _log: Handler | None = None

    @property
    def started_iso(self) -> str:
        """The local time of the start, ISO 8601."""
        return datetime.fromtimestamp(self.started).astimezone().isoformat(timespec="seconds")

    @property
    def store(self) -> RunStore:
        """The run's store, opened when it is first needed."""
        if self._store is None:
            earlier = (
                () if self.options.no_resume else earlier_runs(self.folder.parent, self.folder.name)
            )
            self._store = RunStore(self.folder, earlier=earlier)
            self._log = log.begin(self.folder, self.worker)
        return self._store

    @property
    def planned(self) -> bool:
        """Whether the session, in this process or its workers, planned to ask anything."""
        return (self.folder / STORE).exists() and self.store.token() == self.token

    def close(self) -> None:
        """Close the store and the log."""
        if self._log is not None:
            log.end(self._log)
            self._log = None
        if self._store is not None:
            self._store.close()
            self._store = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What is shown at the end of a session.

    Attributes:
        summary: None when there is none: nothing was asked, or its files could not be written.
        failure: why its files could not be written; empty when they were.
        conclusions: of several checkpoints together; None for a single one.
        reports: the files of the report.
    """

    summary: Summary | None = None
    failure: str = ""
    conclusions: Conclusions | None = None
    reports: tuple[Path, ...] = ()
