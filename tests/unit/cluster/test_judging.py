"""Programs judged by a cluster: which node is asked what, and what becomes of those it loses.

Ray is played by a few lines; `tests/e2e/test_ray_cluster.py` has the real one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench import CkptbenchError
from ckptbench.config.options import Options
from ckptbench.fixtures.cluster import judging as module
from ckptbench.fixtures.cluster.judging import (
    MOST_PROGRAMS,
    ClusterSandbox,
    Judged,
    judged,
    judges,
    versions,
)
from ckptbench.fixtures.sandbox import ExecutionResult, FunctionTask, Sandbox, Task

ARGUMENTS = {"timeout_s": 3.0, "memory_mb": None, "libraries": ()}
WORK = (ARGUMENTS, versions(()))
BELOW = "generated programs cannot be isolated on this machine"


class RayError(Exception):
    """As in Ray, the base of the others: a task's process or node was lost too often."""


class RayTaskError(RayError):
    """A task raised."""


@dataclass
class Node:
    """Judges a program by its text; one that is `dies_on` ends it."""

    name: str
    problem: str = ""
    dies_on: str = ""
    asked: list[list[str]] = field(default_factory=list)

    def judge(self, tasks: Sequence[FunctionTask]) -> Judged:
        programs = [task.program for task in tasks]
        self.asked.append(programs)
        if self.dies_on in programs:
            raise RayError("the worker died")
        if self.problem:
            return Judged(self.name, self.name, problem=self.problem)
        results = [result_of(program) for program in programs]
        return Judged(self.name, self.name, "sandbox: L2", "", results)


def result_of(program: str) -> ExecutionResult | str:
    if program == "error":
        return "no process could be started"
    return ExecutionResult("fail" if "wrong" in program else "pass", program, 0.0, 0.0, "L2")


class FakeRay:
    """Asks its nodes in turns; nothing comes back while it is `silent`."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *nodes: Node) -> None:
        self.played, self.silent, self.cpus = nodes, False, 1
        self.needs: list[float] = []

    def remote(self, function: Callable[..., Any]) -> Any:
        return SimpleNamespace(options=self._options)

    def _options(self, num_cpus: float, max_retries: int, **options: Any) -> Any:
        assert max_retries > 0
        selector = options.get("label_selector", {}).get("ray.io/node-id", "")
        self.needs.append(num_cpus)
        return SimpleNamespace(remote=partial(self._remote, selector))

    def _remote(self, selector: str, arguments: Any, expected: Any, tasks: Any) -> Any:
        allowed = [node for node in self.played if node.name not in selector]
        node = allowed[len(self.needs) % len(allowed)]
        return lambda: node.judge(tasks)

    def wait(self, references: Sequence[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return ([], list(references)) if self.silent else (list(references[:1]), [])

    def get(self, reference: Callable[[], Any]) -> Any:
        return reference()

    def nodes(self) -> list[dict[str, Any]]:
        resources = {"CPU": 2.0}
        return [{"Alive": 1, "NodeID": n.name, "Resources": resources} for n in self.played]

    def available_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus}

    def cancel(self, reference: Any) -> None:
        pass


def task(program: str) -> Task:
    return FunctionTask("it", program, "assert f(2) == 4", "f")


@pytest.fixture
def sandbox_of() -> Iterator[Callable[..., ClusterSandbox]]:
    opened: list[ClusterSandbox] = []

    def make(ray: FakeRay, at_once: int = 2, cpus: int = 1) -> ClusterSandbox:
        opened.append(ClusterSandbox(ray, WORK, set(), at_once, cpus))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def results(box: ClusterSandbox, programs: Sequence[str]) -> list[Any]:
    futures = [box.submit(task(program)) for program in programs]
    return [_outcome(future) for future in futures]


def _outcome(future: Future[ExecutionResult]) -> Any:
    error = future.exception(timeout=60)
    return str(error) if error is not None else future.result().status


MANY = [f"{'wrong' if i % 3 else 'right'}{i}" for i in range(100)]
EXPECTED = ["fail" if i % 3 else "pass" for i in range(100)]


def test_each_program_has_its_own_result(sandbox_of: Callable[..., ClusterSandbox]) -> None:
    nodes = Node("n1"), Node("n2")
    assert results(sandbox_of(FakeRay(*nodes)), MANY) == EXPECTED
    asked = [batch for node in nodes for batch in node.asked]
    assert sorted(program for batch in asked for program in batch) == sorted(MANY)
    assert all(0 < len(batch) <= MOST_PROGRAMS for batch in asked)
    assert all(node.asked for node in nodes)


def test_a_node_that_came_later_and_is_below_l2_judges_nothing(
    sandbox_of: Callable[..., ClusterSandbox],
) -> None:
    below = Node("n2", problem=BELOW)
    assert results(sandbox_of(FakeRay(Node("n1"), below), at_once=1), MANY) == EXPECTED
    assert len(below.asked) == 1


def test_of_programs_that_were_lost_with_their_processes_one_alone_is_an_error(
    sandbox_of: Callable[..., ClusterSandbox],
) -> None:
    programs = ["right", "fatal", "wrong"] * 3
    ray = FakeRay(Node("n1", dies_on="fatal"))
    ray.silent = True  # until all of them wait, so that a task has several
    box = sandbox_of(ray)
    futures = [box.submit(task(program)) for program in programs]
    ray.silent = False
    assert [_outcome(future) for future in futures] == ["pass", "the worker died", "fail"] * 3
    assert any(len(batch) > 1 for batch in ray.played[0].asked)


def test_what_a_node_could_not_judge_names_it(sandbox_of: Callable[..., ClusterSandbox]) -> None:
    found = results(sandbox_of(FakeRay(Node("n1"))), ["right", "error"])
    assert found == ["pass", "node n1: no process could be started"]


def test_cpus_that_replicas_have_taken_are_not_waited_for(
    sandbox_of: Callable[..., ClusterSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    ray = FakeRay(Node("n1"))
    ray.cpus, ray.silent = 0, True
    future = sandbox_of(ray).submit(task("right"))
    while ray.needs != [1, 0]:
        assert not future.done()
    ray.silent = False
    assert _outcome(future) == "pass"


def test_a_cluster_without_a_node_that_may_judge_is_not_waited_for_without_end(
    sandbox_of: Callable[..., ClusterSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    monkeypatch.setattr(module, "NO_NODE_S", 0.0)
    monkeypatch.setattr(FakeRay, "nodes", lambda self: [])
    ray = FakeRay(Node("n1"))
    ray.silent = True
    found = results(sandbox_of(ray, cpus=0), ["right"])
    assert "no node of the cluster has judged programs" in found[0]


def test_after_its_end_nothing_is_waited_for() -> None:
    ray = FakeRay(Node("n1"))
    ray.silent = True
    box = ClusterSandbox(ray, WORK, set(), 1, 1)
    running = box.submit(task("right"))
    while not running.running():
        pass
    waiting = box.submit(task("right"))
    box.close()
    assert "has been closed" in _outcome(running)
    with pytest.raises(CancelledError):
        waiting.result(timeout=0)
    with pytest.raises(CkptbenchError, match="has been closed"):
        box.submit(task("right"))


def found_by(monkeypatch: pytest.MonkeyPatch, *found: Judged) -> tuple[FakeRay, list[str]]:
    ray = FakeRay(*(Node(each.node_id) for each in found))
    monkeypatch.setattr(module, "connect", lambda: ray)
    monkeypatch.setattr(module, "_survey", lambda *_: list(found))
    return ray, []


def test_each_level_is_told_with_its_nodes_and_those_below_l2_are_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray, notes = found_by(
        monkeypatch,
        Judged("host-b", "n1", "sandbox: L3 namespaces"),
        Judged("host-a", "n2", "sandbox: L3 namespaces"),
        Judged("host-c", "n3", problem=BELOW),
    )
    with judges(Options(replicas=1, replica_resources={"cpus": 1}), notes.append) as box:
        assert box is not None
        assert results(box, MANY) == EXPECTED
    assert notes == [
        "programs judged on 2 nodes (host-a, host-b): sandbox: L3 namespaces",
        f"programs not judged on 1 node (host-c): {BELOW}",
    ]
    assert [bool(node.asked) for node in ray.played] == [True, True, False]
    assert set(ray.needs) == {1}


def test_programs_are_judged_beside_replicas_that_have_all_cpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray, notes = found_by(monkeypatch, Judged("host", "n1", "sandbox: L2"))
    with judges(Options(), notes.append) as box:
        assert box is not None
        assert results(box, MANY) == EXPECTED
    assert set(ray.needs) == {0}


def test_a_node_without_cpus_judges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a cluster's head that is meant for no work."""
    ray, notes = found_by(monkeypatch, *(Judged("host", f"n{i}", "sandbox: L2") for i in (1, 2)))
    both = ray.nodes()
    both[0]["Resources"] = {"memory": 1.0}
    monkeypatch.setattr(ray, "nodes", lambda: both)
    surveyed = partial(map, lambda node: Judged("host", node["NodeID"], "sandbox: L2"))
    monkeypatch.setattr(module, "_survey", lambda ray, nodes, work: list(surveyed(nodes)))
    with judges(Options(), notes.append) as box:
        assert box is not None
        assert results(box, MANY) == EXPECTED
    assert [bool(node.asked) for node in ray.played] == [False, True]


def test_without_a_node_that_may_judge_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    _, notes = found_by(monkeypatch, Judged("host-c", "n3", problem=BELOW))
    with judges(Options(), notes.append) as box:
        assert box is None
    assert notes[-1] == "no node of the cluster judges programs: they are judged by this process"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is a node, called n1 by Ray."""
    context = SimpleNamespace(get_node_id=lambda: "n1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    module._sandbox.cache_clear()
    yield
    module._sandbox(tuple(ARGUMENTS.items())).close()
    module._sandbox.cache_clear()


@pytest.mark.sandbox
@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's")
def test_a_node_judges_as_the_sandbox_does(here: None) -> None:
    tasks = [task(f"def f(x):\n    {body}\n") for body in ("return 2 * x", "return x", "1 / 0")]
    found = judged(*WORK, tasks)
    with Sandbox(workers=1) as sandbox:
        own = [sandbox.submit(each).result() for each in tasks]
    assert isinstance(found, Judged)
    assert (found.node_id, found.problem, found.isolation[:10]) == ("n1", "", "sandbox: L")
    assert [(r.status, r.reason, r.level) for r in found.results] == [
        (r.status, r.reason, r.level) for r in own
    ]


def test_a_node_with_another_version_judges_nothing(here: None) -> None:
    found = judged(ARGUMENTS, {**WORK[1], "ckptbench": "0.0.1"}, [task("right")])
    assert found.problem == f"ckptbench is {WORK[1]['ckptbench']} there, and 0.0.1 here"
    assert not found.results


def test_a_node_without_a_library_of_the_programs_judges_nothing(here: None) -> None:
    found = judged({**ARGUMENTS, "libraries": ("no_such_package",)}, {}, [task("right")])
    assert "no package 'no_such_package' is installed" in found.problem
