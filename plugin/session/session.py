"""The benchmarks of one pytest session: its options, its groups, its plan and its store."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from logging import Handler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from .._util.errors import CkptbenchError
from ..api.engine import Engine
from ..config.options import Options
from ..config.tracking_uri import check_tracking
from ..results import log as runlog
from ..results.outcome import Outcomes
from ..results.store import FILE_NAME, PlannedItem, RunStore, earlier_runs
from . import blocks as planning
from .answering import Answering, Block
from .collection import Collected
from .group import CheckpointParam, Group, checkpoint_params, named
from .item import SampleItem
from .order import arranged
from .runner import Runner
from .xdist import share_the_machine, tell_notes, worker_number

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions
    from ..gate.baseline import Baseline
    from ..results.summary import Summary

KEY = pytest.StashKey["BenchSession"]()


def session_of(config: pytest.Config) -> BenchSession:
    """The benchmarks of a session."""
    return config.stash[KEY]


@dataclass(eq=False)
class BenchSession:
    """See the module.

    Attributes:
        worker: name of the pytest-xdist worker this process is; empty in the main process.
        workers: how many workers the session has; 0 without pytest-xdist.
        collected: the groups, and what is said of them.
        outcomes: what the items came to so far.
        summary: what the run came to, once it is over.
        conclusions: what its checkpoints say together; None for a single one.
        reports: the files of its report.
        failure: why its files could not be written; empty when they were.
        baseline: what it is compared with.
        hooks: the plugin with our own hooks; around an item they are called directly.
        official: by checkpoint, what lm-eval makes of its answers to lm-eval's tasks.
        refused: whether an option does not fit what was collected.
    """

    config: pytest.Config
    options: Options
    collected: Collected
    worker: str = ""
    workers: int = 0
    checkpoints: tuple[CheckpointParam, ...] = ()
    outcomes: Outcomes = field(default_factory=Outcomes)
    summary: Summary | None = None
    conclusions: Conclusions | None = None
    reports: tuple[Path, ...] = ()
    failure: str = ""
    notes: tuple[str, ...] = ()
    baseline: Baseline | None = None
    started: float = field(default_factory=time.time)
    pytest_session: Any = None
    runner: Runner | None = None
    hooks: Any = None
    official: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: bool = False
    token: str = field(default_factory=lambda: uuid4().hex)
    _answering: Answering | None = None
    _store: RunStore | None = None
    _log: Handler | None = None
    _asked_again: set[int] = field(default_factory=set)

    @classmethod
    def begin(
        cls,
        config: pytest.Config,
        options: Options,
        workerinput: Mapping[str, Any],
        hooks: Any = None,
    ) -> BenchSession:
        """Start a session, as the main process or as a worker of it.

        Raises:
            CkptbenchError: the baseline cannot be read, or a library of a report is missing.
        """
        bench = cls(
            config,
            options,
            Collected(config, options),
            worker=workerinput.get("workerid", ""),
            workers=workerinput.get("workercount", 0),
            checkpoints=_checkpoints(options, workerinput),
            hooks=hooks,
            **({"token": workerinput["ckptbench_token"]} if workerinput else {}),
        )
        if options.report and not workerinput:
            from ..reports.write import check_formats

            check_formats(options.report)
        if options.baseline is not None and not workerinput:
            bench._read_baseline(config.invocation_params.dir / options.baseline)
        return bench

    def find_checkpoints(self) -> None:
        """Match the patterns among the checkpoints; workers are told what was found.

        Raises:
            CkptbenchError: see `checkpoints.expand` and `checkpoints.errors`.
        """
        from ..checkpoints.errors import refuse_unquoted
        from ..checkpoints.expand import expand

        options = self.options
        if self.worker or not options.checkpoint:
            return
        resolver = self.collected.resolver
        if resolver is None:
            return
        expansion = expand(
            [resolver.spelled(spec) for spec in options.checkpoint],
            resolver,
            pattern=options.checkpoint_pattern,
            from_step=options.from_step,
        )
        refuse_unquoted(self.config.args, expansion.found, resolver.is_checkpoint)
        self.checkpoints = named(expansion.found)
        self.notes += expansion.notes

    def check_checkpoints(self) -> None:
        """Refuse what is no checkpoint before anything is loaded.

        Raises:
            CkptbenchError: naming the first.
        """
        resolver = self.collected.resolver
        if resolver is not None and (self.checkpoints or not self.options.is_dry):
            resolver.check([each.spec for each in self.checkpoints])

    def _read_baseline(self, path: Path) -> None:
        from ..readers.baseline import load

        if not self.options.update_baseline:
            self.baseline = load(path)
            return
        if path.is_dir():
            raise CkptbenchError(
                "is a folder", where=str(path), remedy="--update-baseline needs a file"
            )
        if not path.exists():
            return
        try:
            self.baseline = load(path)
        except CkptbenchError as error:
            # It is about to be replaced, which may be the very remedy.
            self.notes += (
                f"nothing was compared with the old baseline: {error.where}: {error.what}",
            )

    @property
    def run_folder(self) -> Path:
        """`results/<run-id>`, below pytest's invocation directory unless absolute."""
        return self.config.invocation_params.dir / self.options.results_dir / self.options.run_id

    @property
    def started_iso(self) -> str:
        return datetime.fromtimestamp(self.started).astimezone().isoformat(timespec="seconds")

    @property
    def asks(self) -> bool:
        """Whether the session, in this process or its workers, planned to ask anything."""
        return (self.run_folder / FILE_NAME).exists() and self.store.token() == self.token

    # Collecting

    @property
    def groups(self) -> list[Group]:
        """What was collected, in order."""
        return self.collected.groups

    def items_of(self, group: Group) -> Iterator[SampleItem]:
        """The items of a group that are left after deselection, while they are not yet planned."""
        items = self.pytest_session.items if self.pytest_session is not None else ()
        return (i for i in items if isinstance(i, SampleItem) and i.group is group)

    def check_options(self) -> None:
        """Refuse options that do not fit what was collected, and note what a configuration says.

        Raises:
            CkptbenchError: naming the option and the nearest known name.
        """
        if self.options.eval_config is not None:
            self.notes += self.options.eval_config.notes
        if self.options.not_in_data_dir:
            missing = ", ".join(self.options.not_in_data_dir)
            self.notes += (f"--data-dir {self.options.data_dir} holds no data of {missing}",)
        self.notes += tuple(dict.fromkeys(self.collected.stand_ins))
        self.collected.check()

    def note_unasked(self) -> None:
        """Tell which checkpoints cannot answer what."""
        self.notes += self.collected.unasked_notes(len(self.checkpoints))

    def arrange(self, items: list[pytest.Item]) -> None:
        """Put items in running order; see `arrangement`."""
        if not any(isinstance(item, SampleItem) for item in items):
            return
        orders = ("failedfirst", "newfirst", "stepwise", "lf")
        items[:] = arranged(
            items,
            chosen=any(self.config.getoption(name, None) for name in orders),
            several_checkpoints=len(self.checkpoints) > 1,
            priorities=self.options.eval_config is not None,
        )

    def make_plan(self, items: list[pytest.Item]) -> None:
        """Cut the final items into blocks, and keep the plan in the store."""
        self.note_unasked()
        groups: list[int | None] = []
        n = 0
        for position, item in enumerate(items):
            if isinstance(item, SampleItem):
                item.position = position
                n += 1
            groups.append(item.group.index if isinstance(item, SampleItem) else None)
        if not n:
            if self.collected.all_unasked and not self.outcomes.others_failed:
                raise CkptbenchError(
                    "no benchmark asks what the checkpoint answers",
                    where="--checkpoint",
                    remedy="; ".join(dict.fromkeys(self.notes)),
                )
            return
        if self.worker:
            share_the_machine(self.worker, self.workers)
        # The items live as long as the session: the collector need not walk them again and again.
        gc.freeze()
        size = planning.fair_size(n, self.workers) if self.workers else planning.BLOCK_SIZE
        plan = planning.cut(groups, size)
        if self.worker in ("", "gw0"):
            self._keep_plan(items)
        if not self.worker:
            self.check_baseline()
            check_tracking(self.options.mlflow)
        runlog.LOG.info("%s items to ask, in %s blocks", f"{n:,}", f"{len(plan.blocks):,}")
        self.runner = Runner(self)
        self._answering = Answering(
            items,
            plan,
            self.store,
            reuse=not self.options.no_resume,
            progress=self._say_progress,
            step=self._step,
        )

    def _step(self, number: int) -> int:
        """How far ahead the next block of this process lies; 0 for a block of another worker's."""
        if not self.workers:
            return 1
        home = planning.home_of(worker_number(self.worker), self.workers)
        return self.workers if planning.home_of(number, self.workers) == home else 0

    def check_baseline(self) -> None:
        """Refuse names of metrics that no benchmark has, before anything is asked.

        Raises:
            CkptbenchError: see `gate.names`.
        """
        from ..gate.names import MetricNames

        known = MetricNames.of(self.store.groups())
        known.check_options(self.config, self.options)
        if self.baseline is not None and not self.options.update_baseline:
            known.check_numbers(self.baseline, str(self.options.baseline))

    def _keep_plan(self, items: list[pytest.Item]) -> None:
        planned = [item for item in items if isinstance(item, SampleItem)]
        first = {item.group.index: item.sample for item in reversed(planned)}
        self.store.write_plan(
            self.token,
            list(dict.fromkeys(self.notes)),
            [group.facts(first.get(group.index)) for group in self.groups],
            (
                PlannedItem(
                    i.position,
                    i.nodeid,
                    i.group.index,
                    i.sample.id,
                    i.sample.hash,
                    i.sample.cluster,
                    i.trial,
                )
                for i in planned
            ),
            {i.sample.hash: i.sample.fields for i in planned}.items(),
        )

    # Answering

    @property
    def store(self) -> RunStore:
        """The run's store, opened when it is first needed."""
        if self._store is None:
            folder = self.run_folder
            earlier = () if self.options.no_resume else earlier_runs(folder.parent, folder.name)
            self._store = RunStore(folder, earlier=earlier)
            self._log = runlog.begin(folder, self.worker)
        return self._store

    @property
    def answering(self) -> Answering:
        """What gives items their responses, once the plan is made."""
        if self._answering is None:
            raise CkptbenchError("no plan was made", remedy="is collection finished?")
        return self._answering

    def _say_progress(self, block: Block) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self.worker or reporter.verbosity < 0:
            return
        waited = time.monotonic() - block.started if block.started else 0.0
        if waited >= self._next_word_s:
            self._next_word_s = max(10.0, 2 * waited)
            total = len(block.items)
            reporter.ensure_newline()
            reporter.write_line(
                f"{block.group.title}: {block.answered:,} of {total:,} answered, {waited:.0f} s"
            )

    _next_word_s: float = 5.0

    def unload(self, engine: Engine) -> None:
        """Hold nothing of an engine that is being torn down."""
        if self._answering is not None:
            self._answering.unload(engine)

    def ask_again(self, group: Group) -> None:
        """Ask some samples of a group that has reported again, once, for `--noise-floor`."""
        number = self.options.noise_floor
        if number is None or self._answering is None or group.index in self._asked_again:
            return
        from .repeat import ask_again

        self._asked_again.add(group.index)
        ask_again(self, group, number)

    # The end

    def finish(self, exit_status: int, others_failed: bool) -> int:
        """Stop answering; in the main process, conclude the run.

        Returns:
            What pytest should exit with.
        """
        if self._answering is not None:
            self._answering.close()
            self._answering = None
        if self.worker:
            tell_notes(self.config, self.notes)
        stopped_before = exit_status > 1 and not self.outcomes.by_nodeid
        if self.worker or stopped_before or not self.asks:
            return exit_status
        from .finish import conclude_session

        try:
            self.summary = conclude_session(self, exit_status, others_failed)
        except CkptbenchError as error:
            self.failure = str(error)
            runlog.LOG.error("the run's files: %s", error)
            return exit_status if exit_status > 1 else 1
        from ..reports.conclusion import conclude

        runlog.LOG.info("%s", conclude(self.summary).text)
        return self.summary.exit_status

    def close(self) -> None:
        """Close the store and the log."""
        if self._log is not None:
            runlog.end(self._log)
            self._log = None
        if self._store is not None:
            self._store.close()
            self._store = None


def _checkpoints(options: Options, workerinput: Mapping[str, Any]) -> tuple[CheckpointParam, ...]:
    """Those that the main process found, in a worker; otherwise what was given."""
    told = workerinput.get("ckptbench_checkpoints")
    if told is not None:
        return tuple(CheckpointParam(**fields) for fields in told)
    return checkpoint_params(options.checkpoint)
