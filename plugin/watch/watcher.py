"""The loop: look, evaluate what is ready, rewrite the run, and know when to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .._util.errors import CkptbenchError
from .._util.names import natural_key
from ..analysis.conclusions import Conclusions, Stopping
from ..readers.result import Result
from ..reports.rows import benchmark_rows, composite_row
from ..results.store import PARTS
from ..results.summary import Summary
from ..runs.merge_watched import join
from .complete import lacking
from .scan import PATTERNS, Ready, Survey, View, signature_of
from .state import Diary, read_diary
from .subprocess import Evaluated, evaluate

ENOUGH = 3
Order = Literal["oldest-first", "newest-first"]
# What pytest exits with when its command line cannot be followed or nothing is left to ask.
_WRONG_COMMAND = (4, 5)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to watch, and when to end.

    Attributes:
        folder: the training run's.
        run: the run's folder, `<results>/<run-id>`.
        arguments: pytest's.
        patterns: names of checkpoints.
        order: which of several ready ones is evaluated first.
        settle_s: seconds for which a checkpoint must lie still.
        poll_s: seconds between two looks.
        idle_s: end after so many seconds without news; None never does.
        once: end when what is there has been evaluated.
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

    def __init__(self, plan: Plan, stop: threading.Event, tell: Callable[[str], None]) -> None:
        """Read what an earlier watch of the same run left.

        Args:
            stop: set to end the watch; a running evaluation is interrupted.
            tell: says a line to whoever looks on.

        Raises:
            CkptbenchError: the run is not this watch's, or the folder cannot be there.
        """
        if not plan.folder.parent.is_dir() or plan.folder.is_file():
            raise CkptbenchError(
                "is no folder, and none could be made there",
                where=str(plan.folder),
                remedy="name the folder that the trainer saves its checkpoints in",
            )
        self._plan = plan
        self._stop = stop
        self._tell = tell
        self._diary: Diary = read_diary(plan.run, plan.folder, plan.arguments)
        self._failed: dict[str, str] = {}  # signatures by name, not tried again
        self._faulty = False
        self._survey = Survey(
            plan.folder, time.monotonic, patterns=plan.patterns, settle_s=plan.settle_s
        )
        self._looked = self._quiet_since = 0.0
        self._current = ""  # name of what is being evaluated
        self._stale = bool(self._diary.evaluated)
        self._whole: Summary | None = None
        self._advice: Stopping | None = None

    def run(self) -> int:
        """Watch until there is a reason to end.

        Returns:
            0; 1 when a checkpoint failed the gate, is incomplete or could not be evaluated;
            3 when training can stop, if that was asked.

        Raises:
            CkptbenchError: pytest does not take its arguments, or `once` finds nothing.
        """
        plan = self._plan
        began = self._quiet_since = time.monotonic()
        view = View()
        while not self._stop.is_set():
            view = self._look()
            if pending := self._pending(view.ready):
                self._evaluate(pending[0])
                continue
            if self._stale:
                self._rewrite()
            # Only now: of a part of what is there, the rule would not know the rest.
            if plan.stop_early and self._advice is not None and self._advice.stop == "yes":
                self._tell(f"training can stop: {self._advice.detail}")
                return ENOUGH
            now = time.monotonic()
            if plan.once and now - began >= plan.settle_s:
                break
            if plan.idle_s is not None and now - self._quiet_since >= plan.idle_s:
                self._tell(f"nothing new for {plan.idle_s:g} s")
                break
            self._stop.wait(plan.poll_s)
        if self._stale:
            self._rewrite()
        for name, why in sorted(view.unready.items()):
            self._tell(f"{name}: not evaluated, {why}")
        if plan.once and not self._diary.evaluated and not self._stop.is_set():
            raise CkptbenchError(
                "no checkpoint is there that could be evaluated",
                where=str(plan.folder),
                remedy=f"names looked for: {', '.join(plan.patterns)} (--pattern)",
            )
        return self._status()

    def _look(self) -> View:
        """See what is there, and say what no longer is."""
        view = self._survey.look()
        self._looked = time.monotonic()
        if view.changed:
            self._quiet_since = self._looked
        for name in view.gone:
            if name in self._diary.evaluated:
                self._tell(f"{name}: deleted; its results stay in the run")
            elif name not in self._diary.missed and name != self._current:
                self._miss(name, "was deleted before it was evaluated")
        return view

    def _look_meanwhile(self) -> None:
        """See what comes and goes during an evaluation: it may last longer than a checkpoint."""
        if time.monotonic() - self._looked >= self._plan.poll_s:
            self._look()

    def _status(self) -> int:
        passed = self._whole is None or self._whole.exit_status == 0
        return int(self._faulty or bool(self._failed) or not passed)

    def _pending(self, ready: Sequence[Ready]) -> list[Ready]:
        """What is to be evaluated, the next first."""
        known = {**self._diary.evaluated, **self._failed}
        pending = [each for each in ready if known.get(each.name) != each.signature]
        newest_first = self._plan.order == "newest-first"
        return sorted(pending, key=lambda each: natural_key(each.name), reverse=newest_first)

    def _miss(self, name: str, why: str) -> None:
        self._tell(f"{name} {why}")
        self._diary.missed[name] = why
        self._diary.write(self._plan.run)
        self._stale = bool(self._diary.evaluated)

    def _evaluate(self, ready: Ready) -> None:
        name = ready.name
        self._tell(f"{name}: evaluating")
        self._current = name
        done = evaluate(
            ready.path,
            self._plan.run / PARTS,
            self._plan.arguments,
            self._stop,
            self._look_meanwhile,
        )
        self._current = ""
        self._quiet_since = time.monotonic()
        if done.stopped:
            self._tell(f"{name}: interrupted; the same command goes on with it")
            return
        changed = signature_of(ready.path) != ready.signature
        if changed and ready.path.exists() and not lacking(ready.path):
            self._tell(f"{name}: changed while it was evaluated, so it is evaluated again")
            return
        summary = done.summary if done.status in (0, 1) else None
        if summary is not None and (summary.complete or not changed):
            # Only what was there in full counts: who deletes while we read makes errors.
            self._keep(ready, summary, changed)
        elif changed:
            self._miss(name, "was deleted while it was evaluated")
        else:
            self._fail(ready, done)

    def _keep(self, ready: Ready, summary: Summary, changed: bool) -> None:
        self._diary.evaluated[ready.name] = ready.signature
        self._diary.missed.pop(ready.name, None)
        self._failed.pop(ready.name, None)
        self._diary.write(self._plan.run)
        for line in told_scores(summary):
            self._tell(line)
        if changed:
            self._tell(f"{ready.name}: deleted meanwhile; it was evaluated in full")
        self._rewrite()

    def _fail(self, ready: Ready, done: Evaluated) -> None:
        said = f"pytest exited {done.status}"
        if done.status in _WRONG_COMMAND and not self._diary.evaluated:
            raise CkptbenchError(
                f"{ready.name} was not evaluated: {said}\n{done.last_lines()}",
                where=str(done.log),
                remedy="what stands after -- is given to pytest",
            )
        self._failed[ready.name] = ready.signature
        self._tell(f"{ready.name}: {said}, see {done.log}\n{done.last_lines()}")
        self._miss(ready.name, f"could not be evaluated ({said})")

    def _rewrite(self) -> None:
        """Make the run's folder, its report and its conclusions of all parts."""
        self._stale = False
        plan = self._plan
        names = sorted(self._diary.evaluated, key=natural_key)
        try:
            self._whole = join(plan.run, names, self._diary.notes())
            result, conclusions = self._concluded()
            self._advice = _stopping(conclusions)
            if plan.reports:
                from ..reports.write import write_report

                write_report([result], conclusions, plan.run, plan.reports)
        except Exception as error:  # whatever is wrong with a report, training goes on and so do we
            self._faulty = True
            self._tell(f"the run was not rewritten: {type(error).__name__}: {error}")
            return
        if plan.mlflow:
            from ..tracking.mlflow import track_or_say

            self._tell(track_or_say(plan.run, plan.mlflow))

    def _concluded(self) -> tuple[Result, Conclusions]:
        from ..analysis.conclude import conclude
        from ..readers.run import read_run

        plan = self._plan
        result = read_run(plan.run)
        return result, conclude(result.measurements, alpha=plan.alpha, tolerance=plan.tolerance)


def _stopping(conclusions: Conclusions) -> Stopping | None:
    """What the rule says of the run: all checkpoints of one folder are of one."""
    said = [run.stopping for run in conclusions.runs if run.stopping is not None]
    return said[-1] if said else None


def told_scores(summary: Summary) -> list[str]:
    """A line for each checkpoint: its headline scores, and how the gate judged them."""
    lines = []
    for checkpoint in summary.checkpoints:
        rows = [
            row for bench in checkpoint.benchmarks if bench.primary for row in benchmark_rows(bench)
        ]
        if checkpoint.composite is not None:
            rows.append(composite_row(checkpoint.composite))
        told = [" ".join(filter(None, (r.metric, r.value, r.word))) for r in rows]
        doubt = "" if summary.complete else ", incomplete"
        lines.append(f"{checkpoint.name}: {', '.join(told)}{doubt} ({summary.seconds:.0f} s)")
    return lines
