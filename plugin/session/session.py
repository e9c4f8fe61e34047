"""The benchmarks of one pytest session, from its options to its result. One per process."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from .._util import language
from .._util.errors import CkptbenchError
from ..api.benchmark import benchmarks_of
from ..api.protocol import Engine
from ..checkpoints.found import CheckpointParam, checkpoint_params, named
from ..config.eval_config import COMMAND_LINE
from ..config.options import Options
from ..config.tracking_uri import check_tracking
from ..results import log as runlog
from ..results.integrity import set_aside_damaged
from ..results.layout import refuse_foreign
from ..results.lease import TAKEN_OVER
from ..results.stored_run import PlannedItem
from .answering import ANSWERING, Answering
from .baseline import check_baseline, read_baseline, with_baseline
from .blocks import BLOCK_SIZE, CLUSTER_BLOCKS, Plan, cut, step_of
from .collection import Collected, length_of
from .copies import check_copies
from .group import Group
from .item import SampleItem
from .make_items import Maker
from .progress import Progress
from .remembered import StandIns
from .run import CONTEXT, Run, RunContext, RunResult
from .runner import Runner
from .signals import INTERRUPTED, EndSignals
from .worker import NOTES, leave_workers_soon, share_the_machine, worker_number

if TYPE_CHECKING:
    from ..gate.baseline import Baseline
    from ..runs.fold import FoldedRun

_SHARED = ("token", "process")  # what workers have of the main process's run


@dataclass(eq=False)
class BenchSession:
    """A pytest session's benchmarks: options, collection, plan, answers and result.

    Attributes:
        ours: the plugin with our own hooks; around an item they are called directly.
        run: its folder and store, which the session's processes share.
        collected: the groups.
        baseline: what the run is compared with.
        pytest_session: None until it starts.
        runner: runs the items; None until the plan is made, and when there are none to run.
        refused: whether an option does not fit what was collected.
        result: of the run, once it is over.
        shown: whether that is on the terminal.
        signals: those that end the run early.
        progress: shows on the terminal how far it is; silent in a worker.
    """

    config: pytest.Config
    ours: object
    run: Run
    collected: Collected
    baseline: Baseline | None = None
    pytest_session: pytest.Session | None = None
    runner: Runner | None = None
    refused: bool = False
    result: RunResult = field(default_factory=RunResult)
    shown: bool = False
    signals: EndSignals = field(init=False)
    _stand_ins: StandIns = field(init=False)
    progress: Progress = field(init=False)
    _answering: Answering | None = None
    _folded: FoldedRun | None = None
    _repeated: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.signals = EndSignals(is_worker=bool(self.run.worker))
        self.progress = Progress(None, 0)
        self._stand_ins = StandIns(self.run, self.collected)

    @classmethod
    def begin(
        cls, config: pytest.Config, ours: object, options: Options, workerinput: Mapping[str, Any]
    ) -> BenchSession:
        """Start a session, as the main process or as a worker of it.

        Raises:
            CkptbenchError: the baseline cannot be read, or a library of a report is missing.
        """
        if not workerinput:
            options = with_baseline(options, config)
            spread = (
                config.getoption("numprocesses", None) or config.getoption("dist", "no") != "no"
            )
            if options.engine == "ray" and spread:
                raise CkptbenchError(
                    "one process hands out the samples to the replicas of a cluster",
                    where="--engine ray",
                    remedy="leave -n out; --replicas=N says how many answer at once",
                )
        checkpoints = checkpoint_params(options.checkpoint)
        if workerinput:  # those that the main process found
            found = workerinput["ckptbench_checkpoints"]
            checkpoints = tuple(CheckpointParam(**fields) for fields in found)
        run = Run(
            options,
            config.invocation_params.dir / options.results_dir / options.run_id,
            worker=workerinput.get("workerid", ""),
            workers=workerinput.get("workercount", 0),
            checkpoints=checkpoints,
            **{name: workerinput[f"ckptbench_{name}"] for name in _SHARED if workerinput},
        )
        bench = cls(config, ours, run, Collected(config, options))
        config.stash[CONTEXT] = RunContext(run)
        if not workerinput:
            if options.report:
                from ..reports.write import check_formats

                check_formats(options.report)
            if options.serve and spread:
                raise CkptbenchError(
                    "workers would each start a server of their own",
                    where="--serve",
                    remedy="leave -n out; --concurrency sets how many requests run at once",
                )
            if not options.is_dry:
                refuse_foreign(run.folder)
                run.notes += set_aside_damaged(run.folder)
            bench.baseline = read_baseline(run, config.invocation_params.dir)
        return bench

    @property
    def options(self) -> Options:
        """The session's options."""
        return self.run.options

    @property
    def checkpoints(self) -> tuple[CheckpointParam, ...]:
        """The session's checkpoints, in the order in which they are asked."""
        return self.run.checkpoints

    def find_checkpoints(self) -> None:
        """Match the patterns among the checkpoints; workers are sent what was found.

        Raises:
            CkptbenchError: see `checkpoints.expand`.
        """
        from ..checkpoints.expand import expand, refuse_unquoted

        options = self.options
        choosing = [options.sources.get(name) for name in ("from_step", "checkpoint_pattern")]
        if self.run.worker or not (options.checkpoint or COMMAND_LINE in choosing):
            return
        if (resolver := self.collected.resolver) is None:
            return
        expansion = expand(
            [resolver.spelled(spec) for spec in options.checkpoint],
            resolver,
            pattern=options.checkpoint_pattern,
            from_step=options.from_step,
        )
        refuse_unquoted(self.config.args, expansion.found, resolver.is_checkpoint)
        self.run.checkpoints = named(expansion.found)
        if not (options.is_dry or self.config.option.collectonly):
            for each in self.run.checkpoints:
                try:
                    resolver.fetch(each.spec)
                except CkptbenchError as error:  # a conftest may load what has this name
                    self.collected.not_fetched.append(error)
        self.run.notes += expansion.notes

    def show_progress(self) -> None:
        """Print what the session does from now on, in the main process."""
        if self.run.worker or self.options.is_dry:
            return
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        self.progress = Progress(reporter, len(self.checkpoints))
        self.config.pluginmanager.register(self.progress, "ckptbench-progress")

    # Collecting

    def items_of(self, group: Group) -> Iterator[SampleItem]:
        """The items of a group that are left after deselection, while they are not yet planned."""
        items = self.pytest_session.items if self.pytest_session is not None else ()
        return (i for i in items if isinstance(i, SampleItem) and i.group is group)

    def check_options(self) -> None:
        """Refuse options that do not fit what was collected, and add the notes on the others.

        Raises:
            CkptbenchError: naming the option and the nearest known name.
        """
        notes = self.run.notes
        if self.options.eval_config is not None:
            notes += self.options.eval_config.notes
        if self.options.not_in_data_dir:
            missing = ", ".join(self.options.not_in_data_dir)
            notes.append(f"--data-dir {self.options.data_dir} holds no data of {missing}")
        notes += dict.fromkeys(self.collected.notes)
        self.collected.check()
        notes += self.collected.unasked_notes(len(self.checkpoints))

    def make_items(
        self, collector: pytest.Module, name: str, function: object
    ) -> list[pytest.Item]:
        """The items of a benchmark function.

        Raises:
            CkptbenchError: its dataset or the function itself cannot be used.
        """
        maker = Maker(
            self.options,
            self.collected,
            self.checkpoints,
            self.run.notes,
            before_release=self._repeat,
            on_release=self._unload,
            instead=self._stand_ins.of,
        )
        items: list[pytest.Item] = []
        for benchmark in benchmarks_of(function, self.options):
            items += maker.items(collector, name, function, benchmark)
            # A worker's names are checked by the main process.
            if not self.run.worker and any(g.loads_checkpoint for g in self.collected.groups):
                self.collected.check_names(self.checkpoints)
        return items

    def make_plan(self, items: list[pytest.Item]) -> None:
        """Cut the final items into blocks, and store the plan.

        Raises:
            CkptbenchError: no benchmark asks what the checkpoint answers, an option does not fit,
                or the store cannot be written.
        """
        run, planned = self.run, []
        for position, item in enumerate(items):
            if isinstance(item, SampleItem):
                item.position = position
                planned.append(item)
        if not planned:
            unasked = self.collected.all_unasked and not self.collected.in_other_shards
            if unasked and not run.outcomes.others_failed:
                raise CkptbenchError(
                    "no benchmark asks what the checkpoint answers",
                    where="--checkpoint",
                    remedy="; ".join(dict.fromkeys(run.notes)),
                )
            return
        if run.worker:
            share_the_machine(run.worker, run.workers)
        else:
            check_copies(planned, self.config.invocation_params.dir, len(self.checkpoints))
        # The items live as long as the session: garbage collection need not visit them.
        gc.freeze()
        groups = [(i.group.index, i.stage) if isinstance(i, SampleItem) else None for i in items]
        size = BLOCK_SIZE * (CLUSTER_BLOCKS if self.options.engine == "ray" else 1)
        plan = cut(groups, [length_of(i) for i in items], run.workers, size)
        if run.worker in ("", "gw0"):
            self._store_plan(planned, plan)
        if not run.worker:
            check_baseline(run, self.baseline, self.config)
            check_tracking(self.options.mlflow)
        runlog.LOG.info(
            "%s items to ask, in %s blocks", f"{len(planned):,}", f"{len(plan.blocks):,}"
        )
        self._answering = self.config.stash[ANSWERING] = Answering(
            items,
            plan,
            run.store,
            reuse=not self.options.no_resume,
            progress=self.progress.tick,
            step=partial(step_of, worker_number(run.worker), run.workers),
            decided=None if run.early is None else run.early.decided,
            identity_of=self._stand_ins.identity_of,
        )
        self._stand_ins.answering = self._answering
        self.progress.begin(len(planned))
        self.progress.answered = self._answering.answered
        self.signals.catch(self.config)
        if not run.worker:
            run.keep_lease()
        self.runner = Runner(
            self.config, self._answering, self.ours, self.progress, is_worker=bool(run.worker)
        )

    def _store_plan(self, planned: list[SampleItem], plan: Plan) -> None:
        first = {item.group.index: item.sample for item in reversed(planned)}
        self.run.store.write_plan(
            self.run.token,
            list(dict.fromkeys(self.run.notes)),
            [group.metadata(first.get(group.index)) for group in self.collected.groups],
            (
                PlannedItem(
                    i.position,
                    i.nodeid,
                    i.group.index,
                    s.id,
                    s.hash,
                    s.cluster,
                    i.trial,
                    plan.block_of[i.position],
                )
                for i, s in ((item, item.sample) for item in planned)
            ),
            {i.sample.hash: i.sample.fields for i in planned}.items(),
            self.run.lease,
        )

    # While the items run

    def _unload(self, engine: Engine) -> None:
        """Keep nothing of an engine that is being torn down."""
        if self._answering is not None:
            self._answering.unload(engine)

    def _repeat(self, group: Group) -> None:
        """Repeat some samples of a group that has reported, once, for `--noise-floor`."""
        if self._answering is None or group.index in self._repeated:
            return
        from .repeat import ask_again

        assert self.pytest_session is not None
        self._repeated.add(group.index)
        ask_again(group, self.pytest_session, self.options, self._answering, self.run.store)

    # The end

    def finish(self, exit_status: int) -> int:
        """Stop answering; in the main process, conclude the run, of which `write` keeps the files.

        Returns:
            What pytest should exit with.
        """
        self.signals.concluding = True
        run, exit_status = self.run, self.signals.status or exit_status
        if self._answering is not None:
            # Whoever interrupts it may kill it soon: a long request is not waited for.
            if exit_status in INTERRUPTED:
                self._answering.close(3.0, self.collected.give_up)
            else:
                self._answering.close()
            self._answering = None
        if self.signals.came:
            leave_workers_soon(self.config)
        if run.worker:
            getattr(self.config, "workeroutput", {})[NOTES] = list(run.notes)
        if run.taken_over:
            self.result = RunResult(failure=f"{run.folder}: {TAKEN_OVER}: its results are there")
            return exit_status if exit_status > 1 else 1
        stopped_before = exit_status > 1 and exit_status not in INTERRUPTED
        stopped_before = stopped_before and not run.outcomes.by_nodeid
        if run.worker or stopped_before or not run.planned:
            run.refused = stopped_before and exit_status == pytest.ExitCode.USAGE_ERROR
            return exit_status
        from .finish import conclude_run

        gc.collect()
        gc.freeze()  # the reports live as long as the session: pytest collects twice at its end
        try:
            self.result, self._folded = conclude_run(run, self.config, self.baseline, exit_status)
        except (CkptbenchError, sqlite3.Error) as error:
            self.result = RunResult(failure=str(error))
            runlog.LOG.error("the run's files: %s", error)
            return exit_status if exit_status > 1 else 1
        assert self.result.summary is not None
        return self.result.summary.exit_status

    def write(self) -> None:
        """Write the files of a run that was concluded, once; a fault fails the session."""
        folded, self._folded = self._folded, None
        if folded is None:
            return
        from ..reports.conclusion import conclude
        from .write import write_reports_of, write_run

        directory = self.config.invocation_params.dir
        with self.signals.while_writing():
            self.result = write_run(self.run, directory, folded, self.result)
        self.result = write_reports_of(self.run, directory, self.result)
        summary = self.result.summary
        assert summary is not None
        assert self.pytest_session is not None
        with language.spoken(language.ENGLISH):  # a file that people search
            runlog.LOG.info("%s", conclude(summary).text)
        if summary.unwritten:
            self.pytest_session.exitstatus = summary.exit_status
