"""Blocks are handed to workers by the contract of pytest-xdist's schedulers."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.session.blocks import cut
from ckptbench.session.worker import visible_gpus, worker_number
from ckptbench.session.xdist import BlockScheduler


class Worker:
    """A worker as a scheduler sees it: it takes indices and runs them in order."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.to_run: list[int] = []
        self.sent: list[list[int]] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        assert all(isinstance(index, int) for index in indices)
        self.sent.append(indices)
        self.to_run += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def runnable(self) -> bool:
        """A worker holds its last item back until it knows what comes next."""
        return len(self.to_run) > 1 or (bool(self.to_run) and self.shutting_down)


class Session:
    """Drives a scheduler as pytest-xdist's controller does."""

    def __init__(self, groups: list[int | None], n_workers: int) -> None:
        self.collection = [f"t.py::t[{i}]" for i in range(len(groups))]
        blocks = cut(groups, n_workers=n_workers).block_of
        positions = [(i, block) for i, block in enumerate(blocks) if block >= 0]
        self.taken: list[int] = []
        store = SimpleNamespace(
            block_of_positions=lambda: positions, note_taken=lambda first: self.taken.append(first)
        )
        bench: Any = SimpleNamespace(store=store, early=None)
        self.reported: list[Any] = []
        hook = SimpleNamespace(pytest_collectreport=lambda report: self.reported.append(report))
        config: Any = SimpleNamespace(hook=hook)
        self.scheduler = BlockScheduler(bench, config, n_workers)
        self.workers: list[Worker] = []
        self.ran: list[int] = []
        self.crashed: list[str] = []
        for _ in range(n_workers):
            self.add_worker()

    def add_worker(self) -> Worker:
        worker = Worker(len(self.workers))
        self.workers.append(worker)
        self.scheduler.add_node(worker)
        self.scheduler.add_node_collection(worker, self.collection)
        if self.scheduler.collection_is_completed:
            self.scheduler.schedule()
        return worker

    def step(self, worker: Worker) -> None:
        index = worker.to_run.pop(0)
        self.ran.append(index)
        self.scheduler.mark_test_complete(worker, index)
        self.after_event()

    def after_event(self) -> None:
        if self.scheduler.tests_finished:
            for node in self.scheduler.nodes:
                node.shutdown()

    def kill(self, worker: Worker) -> None:
        crashed = self.scheduler.remove_node(worker)
        worker.to_run.clear()
        worker.shutting_down = True
        if crashed:
            self.crashed.append(crashed)

    def finish(self, draw: random.Random) -> None:
        while ready := [w for w in self.workers if w.runnable]:
            self.step(draw.choice(ready))


def some_groups(seed: int, n: int = 60) -> list[int | None]:
    draw = random.Random(seed)
    return [draw.choice([0, 0, 0, 1, None]) for _ in range(n)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_every_item_runs_exactly_once_whoever_is_faster(seed: int, workers: int) -> None:
    session = Session(some_groups(seed), workers)
    session.finish(random.Random(seed))
    assert sorted(session.ran) == list(range(60))
    assert session.scheduler.tests_finished
    assert all(worker.shutting_down for worker in session.workers)


def test_what_is_sent_are_blocks_of_the_plan_and_single_other_tests() -> None:
    groups = some_groups(1)
    session = Session(groups, 2)
    session.finish(random.Random(1))
    blocks = {tuple(block) for block in cut(groups, n_workers=2).blocks}
    sent = [tuple(indices) for worker in session.workers for indices in worker.sent]
    assert {indices for indices in sent if groups[indices[0]] is not None} == blocks
    assert all(len(indices) == 1 for indices in sent if groups[indices[0]] is None)


def test_blocks_go_to_their_home_first() -> None:
    session = Session([0] * 80, 2)
    assert [worker.sent[0][0] for worker in session.workers] == [0, 10]


def test_a_worker_without_blocks_of_its_own_takes_from_the_others() -> None:
    session = Session([0] * 80, 2)
    fast = session.workers[0]
    while fast.runnable:
        session.step(fast)
    assert len(session.ran) > 40
    session.finish(random.Random(0))
    assert sorted(session.ran) == list(range(80))


def test_the_block_that_a_worker_is_about_to_begin_is_left_to_it() -> None:
    session = Session([0] * 8, 2)  # eight blocks of one item, four a home
    fast = session.workers[0]
    while fast.runnable:
        session.step(fast)
    assert session.ran == [0, 2, 4, 6, 7]
    assert session.taken == [7]
    session.finish(random.Random(0))
    assert sorted(session.ran) == list(range(8))


def test_no_other_test_is_noted_as_taken() -> None:
    session = Session([None] * 8, 2)
    fast = session.workers[0]
    while fast.runnable:
        session.step(fast)
    assert session.ran == [0, 2, 4, 6, 7]
    assert session.taken == []


@pytest.mark.parametrize("seed", range(8))
def test_no_worker_would_answer_ahead_what_another_runs(seed: int) -> None:
    """Told what was taken by the time it begins a block, a worker knows whether the next is its."""
    draw = random.Random(seed)
    session = Session([0] * 24, 3)  # twelve blocks of two items, four a home
    blocks = cut([0] * 24, n_workers=3).blocks
    begun_by: dict[int, Worker] = {}
    ahead: dict[int, Worker] = {}
    while ready := [w for w in session.workers if w.runnable]:
        worker = draw.choice(ready)
        number = worker.to_run[0] // len(blocks[0])
        if number not in begun_by:
            begun_by[number] = worker
            following = number + 3
            at_home = number % 3 == worker_number(worker.gateway.id)
            if at_home and following < len(blocks) and blocks[following][0] not in session.taken:
                ahead[following] = worker
        session.step(worker)
    assert ahead
    assert all(begun_by[number] is worker for number, worker in ahead.items())


def test_a_worker_that_shares_a_home_takes_what_its_owner_has_not_answered_ahead() -> None:
    session = Session([0] * 8, 2)  # eight blocks of one item, four a home
    session.kill(session.workers[1])
    replacing = session.add_worker()
    assert replacing.gateway.id == "gw2"  # whose home would be that of gw0
    while replacing.runnable:
        session.step(replacing)
    assert set(session.ran).isdisjoint({0, 2, 4})
    session.finish(random.Random(0))
    assert {*session.ran, 1} == set(range(8))


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_worker_loses_only_what_it_died_in(seed: int) -> None:
    draw = random.Random(seed)
    session = Session(some_groups(seed), 2)
    for _ in range(draw.randrange(1, 25)):
        session.step(draw.choice([w for w in session.workers if w.runnable]))
    victim = session.workers[seed % 2]
    died_in = victim.to_run[0]
    session.kill(victim)
    session.add_worker()
    session.finish(draw)
    assert session.crashed == [session.collection[died_in]]
    assert sorted([*session.ran, died_in]) == list(range(60))


def test_the_last_workers_work_waits_for_its_replacement() -> None:
    session = Session([0] * 20, 1)
    session.step(session.workers[0])
    session.kill(session.workers[0])
    assert not session.scheduler.tests_finished
    session.add_worker()
    session.finish(random.Random(0))
    assert len(session.ran) + len(session.crashed) == 20


def test_a_worker_that_died_while_it_waited_died_in_nothing() -> None:
    session = Session([0], 2)
    idle = session.workers[1]
    assert idle.to_run == []
    session.kill(idle)
    assert session.crashed == []


def test_an_item_that_is_to_run_again_runs_again() -> None:
    session = Session([0] * 20, 1)
    worker = session.workers[0]
    died_in = worker.to_run[0]
    session.kill(worker)
    session.scheduler.mark_test_pending(session.collection[died_in])
    session.add_worker()
    session.finish(random.Random(0))
    assert sorted(session.ran) == list(range(20))


def test_pending_work_is_told_of() -> None:
    session = Session([0] * 20, 1)
    assert session.scheduler.has_pending
    session.finish(random.Random(0))
    assert not session.scheduler.has_pending


def test_workers_that_collected_different_items_are_refused() -> None:
    pytest.importorskip("xdist")
    session = Session([0] * 4, 1)
    other = Worker(7)
    session.scheduler.add_node(other)
    session.scheduler.add_node_collection(other, ["t.py::another"])
    session.scheduler.schedule()
    session.finish(random.Random(0))
    (report,) = session.reported
    assert report.outcome == "failed"
    assert other.sent == []
    assert other.shutting_down
    assert sorted(session.ran) == list(range(4))


def test_nothing_to_run_ends_at_once() -> None:
    session = Session([], 2)
    assert session.scheduler.tests_finished
    assert not session.scheduler.has_pending


@pytest.mark.parametrize(("name", "number"), [("gw0", 0), ("gw12", 12), ("master", 0), ("", 0)])
def test_a_workers_number_is_in_its_name(name: str, number: int) -> None:
    assert worker_number(name) == number


@pytest.mark.parametrize(
    ("value", "found"),
    [("", []), ("-1", []), ("2", ["2"]), ("0,3", ["0", "3"]), ("GPU-a", ["GPU-a"])],
)
def test_the_gpus_are_those_that_cuda_may_see(
    value: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert visible_gpus() == found
