"""pytest-xdist: blocks go to workers whole, each worker has a GPU of its own.

The plan of the first worker is in the run store before the scheduler starts, so the scheduler
hands out the same blocks as the workers answer. Modes of `--dist` other than `load` keep xdist's
own scheduler: the outcomes are the same, some samples may be answered twice. They are counted once.
"""

from __future__ import annotations

import contextlib
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pytest

from .._util.errors import CkptbenchError
from ..gate.sequential import stage_of
from ..results.outcome import Outcome
from . import blocks as planning
from .baseline import check_baseline
from .run import Run
from .worker import NOTES, REFUSAL, worker_number

if TYPE_CHECKING:
    from .session import BenchSession

# xdist's workers keep their last item until they know which one follows.
_KEEP_AHEAD = 2


class Controller:
    """The main process's part in a session with workers."""

    def __init__(self, bench: BenchSession) -> None:
        self._bench = bench
        self._checked = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker the run that it is part of."""
        node.workerinput["ckptbench_run_id"] = self._bench.run.options.run_id
        node.workerinput["ckptbench_token"] = self._bench.run.token
        node.workerinput["ckptbench_process"] = self._bench.run.process
        node.workerinput["ckptbench_checkpoints"] = [asdict(c) for c in self._bench.checkpoints]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add a worker's notes."""
        self._bench.run.notes += getattr(node, "workeroutput", {}).get(NOTES, ())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """End the session when a worker found that it cannot begin."""
        if message := getattr(report, REFUSAL, ""):
            raise pytest.UsageError(message)

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Add the scores and verdicts to a pytest-json-report file."""
        summary = self._bench.result.summary
        if summary is not None:
            from ..results.as_json import summary_as_json

            json_report["ckptbench"] = summary_as_json(summary)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Check the plan as soon as a worker has stored it."""
        if self._checked or not self._bench.run.planned:
            return
        self._checked = True
        self._bench.signals.catch(self._bench.config)
        self._bench.run.keep_lease()
        progress, first = self._bench.progress, next(iter(self._bench.checkpoints), None)
        progress.begin(len(self._bench.run.store.block_of_positions()))
        progress.loading_in(len(self._bench.config.option.tx), first)
        try:
            bench = self._bench
            check_baseline(bench.run, bench.baseline, bench.config)
            if any(group.own_checkpoint for group in self._bench.run.store.groups()):
                bench.collected.check_files(bench.checkpoints)
        except CkptbenchError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Serve whole blocks in the mode `load`."""
        if config.getoption("dist") != "load":
            return None
        return LateScheduler(self._bench.run, config, log)


class LateScheduler:
    """xdist's own scheduler until the workers have collected; then ours, if they ask anything.

    xdist needs a scheduler before it knows what was collected, and a session without benchmarks
    must run as it would without this plugin.
    """

    def __init__(self, run: Run, config: pytest.Config, log: Any) -> None:
        from xdist.scheduler import LoadScheduling

        self._run = run
        self._scheduler: Any = LoadScheduling(config, log)
        self._chosen = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)

    def schedule(self) -> None:
        """Begin to hand out tests, or go on with a worker that replaces another."""
        if not self._chosen:
            self._chosen = True
            if self._run.planned:
                xdists = self._scheduler
                self._scheduler = BlockScheduler(self._run, xdists.config, xdists.numnodes)
                for node in xdists.nodes:
                    self._scheduler.add_node(node)
                    if node in xdists.node2collection:
                        self._scheduler.add_node_collection(node, xdists.node2collection[node])
        self._scheduler.schedule()


@dataclass(frozen=True)
class Wave:
    """Blocks that are handed out together, after a look at what came before them.

    Attributes:
        checkpoint: the one that is looked at; empty for the first blocks.
        groups: the number of the group of each block.
    """

    checkpoint: str
    blocks: list[tuple[int, array[int]]]
    groups: list[int]

    def needed(self, run: Run, nodeids: Sequence[str]) -> Iterator[tuple[int, array[int]]]:
        """The blocks that are still to be asked; the outcome of the others is recorded."""
        assert run.early is not None
        run.early.look(self.checkpoint)
        for block, group in zip(self.blocks, self.groups, strict=True):
            if reason := run.early.reasons.get(group, ""):
                skipped = Outcome("not_needed", detail=reason)
                run.outcomes.by_nodeid |= dict.fromkeys((nodeids[p] for p in block[1]), skipped)
            else:
                yield block


def waves(run: Run, blocks: Sequence[tuple[int, array[int]]]) -> list[Wave]:
    """The blocks of a plan, in their order, parted where a checkpoint is to be looked at."""
    groups = run.store.groups()
    of = {item.position: item for item in run.store.plan()}
    found = [Wave("", [], [])]
    before = (0, "")
    for number, block in blocks:
        first = of[block[0]]
        stage = stage_of(first.cluster, run.options.seed)
        if stage > 0 and (stage, groups[first.group].checkpoint) != before:
            found.append(Wave(groups[first.group].checkpoint, [], []))
        before = stage, groups[first.group].checkpoint
        found[-1].blocks.append((number, block))
        found[-1].groups.append(first.group)
    return found


class BlockScheduler:
    """Hands out the blocks of the plan, and every other test by itself.

    Each block has a home worker, which may answer it ahead while it reports the one before. A
    worker without blocks of its own takes those of others. A block that was taken is noted in the
    store before its home worker gets the block before it, so that it does not answer it ahead.
    See xdist's `Scheduling` for the contract.
    """

    def __init__(self, run: Run, config: pytest.Config, n_nodes: int) -> None:
        self._run = run
        self.config = config  # where other plugins look for it
        self._n_nodes = n_nodes
        self._collections: dict[Any, list[str]] = {}
        self._pending: dict[Any, deque[int]] = {}
        self._queues: list[deque[array[int]]] = [deque() for _ in range(self._n_nodes)]
        self._collection: list[str] | None = None
        self._block_of: Sequence[int] = ()
        self._later: deque[Wave] = deque()

    @property
    def nodes(self) -> list[Any]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self._n_nodes

    @property
    def tests_finished(self) -> bool:
        if not self.collection_is_completed or any(self._queues) or self._later:
            return False
        return self._is_idle

    @property
    def has_pending(self) -> bool:
        return any(self._queues) or any(self._pending.values()) or bool(self._later)

    @property
    def _is_idle(self) -> bool:
        """Whether each worker has at most the item that it keeps."""
        return all(len(pending) < _KEEP_AHEAD for pending in self._pending.values())

    def add_node(self, node: Any) -> None:
        self._pending[node] = deque()

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if self._collection is not None and list(collection) != self._collection:
            self._report_difference(node, collection)
            self._pending.pop(node)
            node.shutdown()
            return
        self._collections[node] = list(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        self._pending[node].remove(item_index)
        self._feed(node)
        self._look()

    def mark_test_pending(self, item: str) -> None:
        assert self._collection is not None
        self._queues[0].appendleft(array("q", [self._collection.index(item)]))
        for node in self.nodes:
            self._feed(node)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        raise NotImplementedError("blocks are never taken back from a worker")

    def remove_node(self, node: Any) -> str | None:
        """Remove a worker; other workers get what it had left, except the test it died in."""
        left = self._pending.pop(node)
        if not left or self._collection is None:
            return None
        died_in = left.popleft()
        if left:
            self._queues[self._home(node)].appendleft(array("q", left))
        for other in self.nodes:
            self._feed(other)
        return self._collection[died_in]

    def schedule(self) -> None:
        if self._collection is None:
            self._collection = next(iter(self._collections.values()))
            for node, collection in self._collections.items():
                if collection != self._collection:
                    self._report_difference(node, collection)
                    return
            self._fill_queues(self._collection)
        for node in self.nodes:
            self._feed(node)
        self._look()  # perhaps nothing comes before the first one, or a worker died before one

    def _fill_queues(self, collection: Sequence[str]) -> None:
        block_of = array("q", [-1] * len(collection))
        blocks: dict[int, array[int]] = {}
        for position, number in self._run.store.block_of_positions():
            block_of[position] = number
            blocks.setdefault(number, array("q")).append(position)
        self._block_of = block_of
        if self._run.early is not None:
            self._later += waves(self._run, list(blocks.items()))
            blocks = dict(self._later.popleft().blocks) if self._later else {}
        for number, block in blocks.items():
            self._queues[planning.home_of(number, self._n_nodes)].append(block)
        others = [position for position, number in enumerate(block_of) if number < 0]
        for number, position in enumerate(others):
            self._queues[planning.home_of(number, self._n_nodes)].append(array("q", [position]))

    def _look(self) -> None:
        """Hand out what the next look leaves, once all before it is done.

        A worker keeps its last item until it knows the next one: the look does not wait for that.
        """
        if self._later and not any(self._queues) and self._is_idle:
            assert self._collection is not None
            while self._later and not any(self._queues):
                for number, block in self._later.popleft().needed(self._run, self._collection):
                    self._queues[planning.home_of(number, self._n_nodes)].append(block)
            for node in self.nodes:
                self._feed(node)

    def _home(self, node: Any) -> int:
        return planning.home_of(worker_number(node.gateway.id), self._n_nodes)

    def _take(self, node: Any) -> array[int] | None:
        """The next block of a worker's own, or the last one of the worker with most left."""
        owners: dict[int, Any] = {}  # one each: a worker that replaces another may have its home
        for other in self.nodes:
            if not other.shutting_down:
                owners.setdefault(self._home(other), other)
        home = self._home(node)
        if owners[home] is node and self._queues[home]:
            return self._queues[home].popleft()
        # A single block that its worker is about to begin is left to it: it may be half answered.
        queues = [q for i, q in enumerate(self._queues) if len(q) > (1 if i in owners else 0)]
        if not queues:
            return None
        block = max(queues, key=len).pop()
        if self._block_of[block[0]] >= 0:
            # If it cannot be noted, its own worker may answer it too: no more than that is lost.
            with contextlib.suppress(CkptbenchError):
                self._run.store.note_taken(block[0])
        return block

    def _feed(self, node: Any) -> None:
        while not node.shutting_down and len(self._pending[node]) < _KEEP_AHEAD:
            block = self._take(node)
            if block is None:
                if not self._later:
                    node.shutdown()
                return
            self._pending[node].extend(block)
            node.send_runtest_some(list(block))

    def _report_difference(self, node: Any, collection: Sequence[str]) -> None:
        from xdist.report import report_collection_diff

        first_node, first = next(iter(self._collections.items()))
        message = report_collection_diff(
            self._collection or first, list(collection), first_node.gateway.id, node.gateway.id
        )
        if message:
            self.config.hook.pytest_collectreport(
                report=pytest.CollectReport(node.gateway.id, "failed", longrepr=message, result=[])
            )
