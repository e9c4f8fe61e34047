"""The loop of a watch: scan, evaluate what is ready, rewrite the run, and decide when to end."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .._util.errors import CkptbenchError
from .._util.names import natural_key
from ..analysis.conclusions import Stopping
from ..checkpoints.kind import why_incomplete
from ..readers.run import read_summary
from ..reports.rows import benchmark_rows, composite_row
from ..results.layout import PARTS
from ..results.lease import who_works_in
from ..results.summary import Summary
from ..runs.merge_watched import join
from .evaluation import Evaluated, Start, evaluate
from .scan import PATTERNS, Ready, Scanner, Snapshot, signature_of
from .state import read_state, sole_watch

ENOUGH = 3
Order = Literal["oldest-first", "newest-first"]
# pytest's exit statuses for a command line it cannot follow, and for no test to run.
_WRONG_COMMAND = (4, 5)


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What to watch, and when to end.

    Attributes:
        folder: the training run's.
        run: the run's folder, `<results>/<run-id>`.
        arguments: pytest's.
        patterns: names of checkpoints.
        order: which of several ready ones is evaluated first.
        settle_s: seconds for which a checkpoint must not change.
        poll_s: seconds between two scans.
        idle_s: end after so many seconds without a change; None never does.
        once: end when the existing checkpoints have been evaluated.
        stop_early: end when the early-stopping rule says to stop training.
        reports: formats of the report.
        mlflow: URI of a tracking server; empty for none.
        alpha: of the conclusions.
        tolerance: of the conclusions, by metric, as a fraction.
    """

    folder: Path
    run: Path
    arguments: tuple[str, ...]
    patterns: tuple[str, ...] = PATTERNS
    order: Order = "oldest-first"
    settle_s: float = 10.0
    poll_s: float = 2.0
    idle_s: float | None = None
    once: bool = False
    stop_early: bool = False
    reports: tuple[str, ...] = ()
    mlflow: str = ""
    alpha: float = 0.05
    tolerance: Mapping[str, float] = field(default_factory=dict)


class Watcher:
    """One watch, from its start to its end."""

    def __init__(
        self,
        settings: WatchSettings,
        stop: threading.Event,
        print_line: Callable[[str], None],
        start: Start,
    ) -> None:
        """Continue an earlier watch of the same run.

        Args:
            stop: set to end the watch; a running evaluation is interrupted.
            print_line: prints a line.
            start: starts pytest.

        Raises:
            CkptbenchError: the run is not this watch's, or the folder cannot be created.
        """
        if not settings.folder.parent.is_dir() or settings.folder.is_file():
            raise CkptbenchError(
                "is not a folder, and none can be created there",
                where=str(settings.folder),
                remedy="name the folder that the trainer saves its checkpoints in",
            )
        self._settings = settings
        self._stop = stop
        self._print_line = print_line
        self._start = start
        self._state = read_state(settings.run, settings.folder, settings.arguments)
        self._failed: dict[str, str] = {}  # signatures by name, not tried again
        self._rewrite_failed = False
        self._scanner = Scanner(
            settings.folder, time.monotonic, patterns=settings.patterns, settle_s=settings.settle_s
        )
        self._scanned = self._quiet_since = 0.0
        self._current = ""  # name of the checkpoint that is being evaluated
        self._again: set[str] = set()  # names of those that an earlier watch left incomplete
        self._busy: dict[str, str] = {}  # who else works on a checkpoint, by name
        self._stale = bool(self._state.evaluated)
        self._summary: Summary | None = None
        self._advice: Stopping | None = None

    def run(self) -> int:
        """Watch until there is a reason to end.

        Returns:
            0; 1 when a checkpoint failed the gate, is incomplete or could not be evaluated;
            3 when training can stop, with `stop_early`.

        Raises:
            CkptbenchError: pytest does not take its arguments, `once` finds nothing, or another
                watch writes the same run.
        """
        with sole_watch(self._settings.run):
            self._look_back()
            return self._watch()

    def _look_back(self) -> None:
        """Find what an earlier watch left incomplete, and tell why the run does not pass."""
        for name in sorted(self._state.evaluated, key=natural_key):
            try:
                summary = read_summary(self._settings.run / PARTS / name)
            except CkptbenchError:
                self._again.add(name)
                continue
            if not summary.complete:
                self._again.add(name)
            if summary.exit_status:
                for line in score_lines(summary):
                    self._print_line(f"{line}, from an earlier watch")

    def _watch(self) -> int:
        settings = self._settings
        self._quiet_since = time.monotonic()
        first = math.inf  # when all that was there had been seen
        snapshot = Snapshot()
        while not self._stop.is_set():
            looking = time.monotonic()
            snapshot = self._scan()
            first = min(first, self._scanned)
            pending = self._pending(snapshot.ready)
            if free := next((each for each in pending if not self._is_busy(each.name)), None):
                self._evaluate(free)
                continue
            if self._stale:
                self._rewrite()
            # Not earlier: the rule needs all existing checkpoints.
            if (
                not pending
                and settings.stop_early
                and self._advice is not None
                and self._advice.stop == "yes"
            ):
                self._print_line(f"training can stop: {self._advice.detail}")
                return ENOUGH
            if settings.once and not pending and looking - first >= settings.settle_s:
                break
            quiet_s = time.monotonic() - self._quiet_since
            if settings.idle_s is not None and quiet_s >= settings.idle_s:
                self._print_line(f"nothing new for {settings.idle_s:g} s")
                break
            self._stop.wait(settings.poll_s)
        if self._stale:
            self._rewrite()
        for name, why in sorted(snapshot.unready.items()):
            self._print_line(f"{name}: not evaluated, {why}")
        for name, who in sorted(self._busy.items()):
            self._print_line(f"{name}: not evaluated, as {who} still works on it")
        if settings.once and not self._state.evaluated and not self._stop.is_set():
            raise CkptbenchError(
                "no checkpoint is there that could be evaluated",
                where=str(settings.folder),
                remedy=f"names looked for: {', '.join(settings.patterns)} (--pattern)",
            )
        passed = self._summary is None or self._summary.exit_status == 0
        return int(self._rewrite_failed or bool(self._failed) or not passed)

    def _scan(self) -> Snapshot:
        """Scan the folder, and report what was deleted."""
        snapshot = self._scanner.look()
        self._scanned = time.monotonic()
        if snapshot.changed:
            self._quiet_since = self._scanned
        for name in snapshot.gone:
            if name in self._state.evaluated:
                self._print_line(f"{name}: deleted; its results stay in the run")
            elif name not in self._state.missed and name != self._current:
                self._miss(name, "was deleted before it was evaluated")
        return snapshot

    def _scan_meanwhile(self) -> None:
        """Scan during an evaluation, as checkpoints may be deleted before it ends."""
        if time.monotonic() - self._scanned >= self._settings.poll_s:
            self._scan()

    def _pending(self, ready: Sequence[Ready]) -> list[Ready]:
        """The checkpoints to evaluate, the next first."""
        known = {**self._state.evaluated, **self._failed}
        pending = [
            each
            for each in ready
            if known.get(each.name) != each.signature or each.name in self._again
        ]
        newest_first = self._settings.order == "newest-first"
        return sorted(pending, key=lambda each: natural_key(each.name), reverse=newest_first)

    def _is_busy(self, name: str) -> bool:
        """Whether another session works on a checkpoint, such as one that a killed watch left."""
        holder = who_works_in(self._settings.run / PARTS / name)
        if holder is None:
            self._busy.pop(name, None)
        elif self._busy.get(name) != str(holder):
            self._busy[name] = str(holder)
            self._print_line(
                f"{name}: another session works on it ({holder}, {holder.last_sign}), so it is "
                "evaluated later"
            )
        return holder is not None

    def _miss(self, name: str, why: str) -> None:
        self._print_line(f"{name} {why}")
        self._state.evaluated.pop(name, None)  # of older files of the same name
        self._busy.pop(name, None)
        self._state.missed[name] = why
        self._state.write(self._settings.run)
        self._stale = bool(self._state.evaluated)

    def _evaluate(self, ready: Ready) -> None:
        name = ready.name
        self._print_line(f"{name}: evaluating")
        self._current = name
        self._again.discard(name)  # once: it may never become complete
        settings = self._settings
        parts = settings.run / PARTS
        done = evaluate(
            ready.path, parts, settings.arguments, self._stop, self._scan_meanwhile, self._start
        )
        self._current = ""
        self._quiet_since = time.monotonic()
        if done.stopped:
            self._print_line(f"{name}: interrupted; the same command goes on with it")
            return
        changed = signature_of(ready.path) != ready.signature
        if changed and ready.path.exists() and not why_incomplete(ready.path):
            self._print_line(f"{name}: changed while it was evaluated, so it is evaluated again")
            return
        summary = done.summary if done.status in (0, 1) else None
        if summary is not None and (summary.complete or not changed):
            # Deleting a checkpoint while it is read causes errors: only complete runs count.
            self._keep(ready, summary, changed)
        elif self._state.evaluated.get(name) == ready.signature:
            self._failed[name] = ready.signature
            self._stale = True
            self._print_line(
                f"{name}: pytest exited {done.status}, see {done.log}: its earlier results stay in "
                "the run"
            )
        elif changed:
            self._miss(name, "was deleted while it was evaluated")
        else:
            self._fail(ready, done)

    def _keep(self, ready: Ready, summary: Summary, changed: bool) -> None:
        self._state.evaluated[ready.name] = ready.signature
        self._state.missed.pop(ready.name, None)
        self._failed.pop(ready.name, None)
        self._state.write(self._settings.run)
        for line in score_lines(summary):
            self._print_line(line)
        if changed:
            self._print_line(f"{ready.name}: deleted meanwhile; it was evaluated in full")
        self._rewrite()

    def _fail(self, ready: Ready, done: Evaluated) -> None:
        why = f"pytest exited {done.status}"
        if done.status in _WRONG_COMMAND and not self._state.evaluated:
            raise CkptbenchError(
                f"{ready.name} was not evaluated: {why}\n{done.last_lines()}",
                where=str(done.log),
                remedy="the arguments after -- are given to pytest",
            )
        self._failed[ready.name] = ready.signature
        self._print_line(f"{ready.name}: {why}, see {done.log}\n{done.last_lines()}")
        self._miss(ready.name, f"could not be evaluated ({why})")

    def _rewrite(self) -> None:
        """Write the run's folder and its report anew from all parts."""
        from ..analysis.conclude import conclude
        from ..readers.run import read_run

        self._stale = False
        settings = self._settings
        names = sorted(self._state.evaluated, key=natural_key)
        try:
            self._summary = join(settings.run, names, self._state.notes())
            result = read_run(settings.run)
            conclusions = conclude(
                result.measurements, alpha=settings.alpha, tolerance=settings.tolerance
            )
            # All checkpoints of one folder are of one training run.
            found = [run.stopping for run in conclusions.runs if run.stopping is not None]
            self._advice = found[-1] if found else None
            if settings.reports:
                from ..reports.write import write_report

                write_report([result], conclusions, settings.run, settings.reports)
        except Exception as error:  # training goes on, whatever is wrong with a report
            self._rewrite_failed = True
            self._print_line(f"the run was not rewritten: {type(error).__name__}: {error}")
            return
        if settings.mlflow:
            from ..tracking.mlflow import tracking_message

            self._print_line(tracking_message(settings.run, settings.mlflow))


def score_lines(summary: Summary) -> list[str]:
    """A line for each checkpoint: its headline scores, and the gate's verdicts on them."""
    lines = []
    for checkpoint in summary.checkpoints:
        rows = [
            row for bench in checkpoint.benchmarks if bench.primary for row in benchmark_rows(bench)
        ]
        if checkpoint.composite is not None:
            rows.append(composite_row(checkpoint.composite))
        scores = [" ".join(filter(None, (r.metric, r.value, r.word))) for r in rows]
        doubt = "" if summary.complete else ", incomplete"
        lines.append(f"{checkpoint.name}: {', '.join(scores)}{doubt} ({summary.seconds:.0f} s)")
    return lines
