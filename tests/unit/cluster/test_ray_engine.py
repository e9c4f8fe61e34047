"""The driver's half of a cluster: who is asked what, and which replicas are refused.

Ray is played by a few lines that run a call when it is waited for; `tests/e2e/test_ray_cluster.py`
has the real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench import (
    Checkpoint,
    CheckpointKind,
    CkptbenchError,
    Failed,
    Generate,
    Generated,
    Tokens,
)
from ckptbench.fixtures.cluster import engine as module
from ckptbench.fixtures.cluster.engine import RayEngine
from ckptbench.fixtures.cluster.replica import Answered, Identity, Load, Refused, versions

SAME = Identity("node-1", versions(), "f00d", {"seq_len": 8, "dtype": "fp32"}, 2)


class RayError(Exception):
    """As in Ray, the base of the others."""


class RayTaskError(RayError):
    """A call raised."""


class ActorDiedError(RayError):
    """An actor that Ray starts no more."""


class ActorUnavailableError(RayError):
    """An actor that was lost, and is started anew."""


class ObjectLostError(RayError):
    """A result that was lost with its node."""


class FakeRay:
    """Calls in the order in which they were made, one done at a time."""

    exceptions = SimpleNamespace(
        RayError=RayError,
        RayTaskError=RayTaskError,
        ActorDiedError=ActorDiedError,
        ObjectLostError=ObjectLostError,
    )

    def __init__(self) -> None:
        self.stored: list[bytes] = []

    def wait(self, calls: Sequence[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return list(calls[:1]), list(calls[1:])

    def get(self, call: Callable[[], Any]) -> Any:
        found = call()
        if isinstance(found, Exception):
            raise found
        return found

    def put(self, value: Any) -> Any:
        self.stored.append(value.tobytes())
        return len(self.stored) - 1


@dataclass
class Actor:
    """Answers a prompt with itself, as `identity`, after `lost` was raised once each.

    Attributes:
        dies_on: a prompt that ends it, whenever it is asked.
        counts: whether its engine counts tokens.
        calls: parts that it was sent; `asked` are those that it has answered.
    """

    identity: Any = SAME
    lost: list[Exception] = field(default_factory=list)
    dies_on: str = ""
    counts: bool = True
    asked: list[list[str]] = field(default_factory=list)
    calls: int = 0
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.describe = SimpleNamespace(options=self._options, remote=self._describe)
        self.answer = SimpleNamespace(remote=self._answer)

    def _options(self, max_task_retries: int) -> Any:
        assert max_task_retries == -1
        return SimpleNamespace(remote=self._describe)

    def _describe(self, load: Load) -> Callable[[], Any]:
        self.loads.append(load.spec)
        return lambda: self.identity(load) if callable(self.identity) else self.identity

    def _answer(self, load: Load, requests: Sequence[Generate]) -> Callable[[], Any]:
        prompts = [request.prompt for request in requests]
        self.calls += 1

        def call() -> Any:
            if self.dies_on in prompts:
                return ActorUnavailableError("it was restarted")
            if self.lost:
                return self.lost.pop()
            self.asked.append(prompts)
            answers = [(i, Generated(prompt, 1, "eos")) for i, prompt in enumerate(prompts)]
            tokens = Tokens(2 * len(prompts), len(prompts)) if self.counts else None
            identity = self.identity(load) if callable(self.identity) else self.identity
            return Answered(identity, answers, tokens=tokens)

        return call


KIND = CheckpointKind("folder", "a folder", Path.is_dir, lambda checkpoint, options: None)  # type: ignore[arg-type, return-value]
CHECKPOINT = Checkpoint("spec", Path("/nowhere"), KIND)
REQUESTS = [Generate(f"p{i}", 4) for i in range(300)]


def engine_of(*actors: Actor, path: Path = Path("/nowhere")) -> RayEngine:
    there = Checkpoint("spec", path, KIND)
    return RayEngine(FakeRay(), actors, there, fingerprint_here=lambda: SAME.fingerprint)


def texts(engine: RayEngine) -> dict[int, Any]:
    found = list(engine.answer(REQUESTS))
    assert len({index for index, _ in found}) == len(found) == len(REQUESTS)
    return {i: answer.text if isinstance(answer, Generated) else answer for i, answer in found}


RIGHT = {i: f"p{i}" for i in range(300)}


def test_all_replicas_answer_and_each_index_comes_once() -> None:
    actors = [Actor(), Actor(), Actor()]
    engine = engine_of(*actors)
    assert texts(engine) == RIGHT
    assert texts(engine) == RIGHT, "an engine is asked block after block"
    assert all(actor.asked for actor in actors)
    assert (engine.fingerprint, engine.settings) == ("f00d", SAME.settings)


def test_tokens_of_all_replicas_add_up_and_those_of_a_lost_one_are_not_known() -> None:
    engine = engine_of(Actor(), Actor())
    texts(engine)
    assert engine.tokens == Tokens(600, 300)
    engine = engine_of(Actor(lost=[ObjectLostError("x")]), Actor())
    texts(engine)
    assert engine.tokens == Tokens(600, 300, 1)
    engine = engine_of(Actor(counts=False))
    texts(engine)
    assert engine.tokens.uncounted > 0


@pytest.mark.parametrize(("each", "together"), [(1, 3), (0.5, 1.5), (0, 0), (None, None)])
def test_the_gpus_of_all_replicas_are_held(each: float | None, together: float | None) -> None:
    actors = [Actor(identity=replace(SAME, gpus=each)) for _ in range(3)]
    assert engine_of(*actors).gpus == together


def test_a_replica_has_its_next_part_before_the_answers_of_the_last_are_taken() -> None:
    only = Actor()
    next(iter(engine_of(only).answer(REQUESTS)))
    assert (len(only.asked), only.calls) == (1, 2)


@pytest.mark.parametrize("error", [ActorUnavailableError("x"), ObjectLostError("x")])
def test_a_part_that_was_lost_is_asked_again(error: Exception) -> None:
    assert texts(engine_of(Actor(lost=[error, error]), Actor())) == RIGHT


def test_a_replica_that_ray_gives_up_leaves_its_part_to_the_others() -> None:
    dead = Actor(lost=[ActorDiedError("its node is gone")])
    engine = engine_of(dead, Actor())
    dead.identity = ActorDiedError("its node is gone")
    assert texts(engine) == RIGHT


def test_without_a_replica_the_error_says_why() -> None:
    only = Actor()
    engine = engine_of(only)
    only.lost = [ActorDiedError("gone")]
    only.identity = ActorDiedError("first line\nModuleNotFoundError: No module named 'x'")
    with pytest.raises(CkptbenchError, match="no replica is left: ModuleNotFoundError: No module"):
        list(engine.answer(REQUESTS))


def test_the_error_is_of_those_that_were_lost_not_of_one_that_was_not_used() -> None:
    only, odd = Actor(), Actor(replace(SAME, fingerprint="beef"))
    engine = engine_of(only, odd)
    assert texts(engine) == RIGHT
    only.lost = [ActorDiedError("gone")]
    only.identity = ActorDiedError("its node is gone")
    with pytest.raises(CkptbenchError, match="no replica is left: its node is gone"):
        list(engine.answer(REQUESTS))


def test_a_part_that_ends_every_replica_fails_alone() -> None:
    found = texts(engine_of(Actor(dies_on="p7"), Actor(dies_on="p7")))
    failed = {index for index, answer in found.items() if isinstance(answer, Failed)}
    assert 7 in failed
    assert len(failed) < len(REQUESTS)
    assert "3 replicas were lost" in found[7].reason
    assert all(found[i] == f"p{i}" for i in found if i not in failed)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            replace(SAME, node="node-2", fingerprint="beef"),
            "node node-2 has another spec than node node-1: .*fingerprint beef, not f00d",
        ),
        (
            replace(SAME, settings={"seq_len": 8, "dtype": "bf16"}),
            "dtype=bf16, and node node-1 with .*fp32",
        ),
        (
            replace(SAME, node="node-2", versions={**versions(), "torch": "2.0.0"}),
            "torch is 2.0.0 on node node-2, and ",
        ),
        (Refused("node-2", "the weights are cut short", "", ""), "the weights are cut short"),
        (Refused("node-2", "nothing there", "", "", absent=True), "node node-2 does not find spec"),
    ],
    ids=["weights", "settings", "versions", "broken", "absent"],
)
def test_a_replica_that_would_answer_otherwise_is_not_used(other: Any, said: str) -> None:
    odd, notes = Actor(other), []
    engine = RayEngine(
        FakeRay(),
        [Actor(), odd],
        CHECKPOINT,
        add_note=notes.append,
        fingerprint_here=lambda: SAME.fingerprint,
    )
    assert texts(engine) == RIGHT
    assert not odd.asked
    (note,) = notes
    assert re.match(r"the replica of spec on node node-\d was not used: ", note)
    assert re.search(said, note)


@pytest.mark.parametrize("here", ["beef", ""], ids=["the first is wrong", "nobody knows"])
def test_of_different_weights_only_those_of_this_machine_are_measured(here: str) -> None:
    actors = [Actor(), Actor(replace(SAME, node="node-2", fingerprint="beef"))]
    with pytest.raises(CkptbenchError, match=r"has another spec than node .*, not "):
        texts(RayEngine(FakeRay(), actors, CHECKPOINT, fingerprint_here=lambda: here))


def test_one_that_came_back_with_other_weights_between_two_parts_leaves_the_rest() -> None:
    odd, other = Actor(), Actor()
    engine = engine_of(other, odd)
    answers = engine.answer(REQUESTS)
    found = [next(answers)]
    odd.identity = replace(SAME, node="node-2", fingerprint="beef")
    found += answers
    assert {i: answer.text for i, answer in found} == RIGHT  # type: ignore[union-attr]


def test_one_that_came_back_with_other_weights_is_an_error_if_it_is_the_last() -> None:
    only = Actor()
    engine = engine_of(only)
    only.identity = replace(SAME, node="node-2", fingerprint="beef")
    with pytest.raises(CkptbenchError, match="node-2 has another spec than node node-1"):
        list(engine.answer(REQUESTS))


def test_what_a_replica_refuses_is_the_error_with_its_node() -> None:
    refused = Refused("node-1", "the weights are cut short", "model.safetensors", "copy it again")
    with pytest.raises(CkptbenchError) as found:
        engine_of(Actor(refused))
    assert str(found.value) == (
        "model.safetensors on node node-1: the weights are cut short\n  copy it again"
    )


def test_files_are_sent_once_to_the_nodes_that_lack_them(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "optimizer.pt").write_bytes(b"not needed")
    absent = Refused("node-2", "it does not exist", "", "", absent=True)

    def late(load: Load) -> Any:
        return SAME if load.sent else absent

    engine = engine_of(Actor(late), Actor(late), Actor(), path=tmp_path)
    assert texts(engine) == RIGHT
    assert sorted(engine._ray.stored) == [b"weights", b"{}"]
    assert engine._load.sent is not None
    assert sorted(engine._load.sent.files) == ["model/config.json", "model/model.safetensors"]


def test_an_engine_failure_is_of_the_requests_without_an_answer() -> None:
    actor = Actor()
    broken = Answered(SAME, [(0, Generated("p0", 1, "eos"))], "the engine failed: x", "traceback")
    actor.answer = SimpleNamespace(remote=lambda load, requests: lambda: broken)
    found = dict(engine_of(actor).answer(REQUESTS[:3]))
    assert found[0] == Generated("p0", 1, "eos")
    assert found[1] == Failed(broken.failure, "traceback")
    assert found[2] == Failed(broken.failure, "")


def test_a_cluster_without_room_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "NO_REPLICA_S", 0.0)
    monkeypatch.setattr(FakeRay, "wait", lambda self, calls, timeout: ([], list(calls)))
    with pytest.raises(CkptbenchError, match="no room for a replica"):
        engine_of(Actor())


def test_an_ended_session_is_not_answered() -> None:
    engine = engine_of(Actor())
    engine.give_up()
    with pytest.raises(RuntimeError):
        list(engine.answer(REQUESTS))


def test_a_caller_that_stops_leaves_an_engine_of_all_its_replicas() -> None:
    actors = [Actor(), Actor()]
    engine = engine_of(*actors)
    answers = engine.answer(REQUESTS)
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    for actor in actors:
        actor.asked.clear()
    assert texts(engine) == RIGHT
    assert all(actor.asked for actor in actors)


def with_a_next_one(*actors: Actor) -> RayEngine:
    ahead = Load("next", "after it")
    return RayEngine(FakeRay(), actors, CHECKPOINT, ahead.spec, ahead=ahead)


def test_a_replica_without_work_loads_the_next_checkpoint_while_another_finishes() -> None:
    actors = [Actor(), Actor()]
    engine = with_a_next_one(*actors)
    engine.last_block()
    seen = []
    for _ in engine.answer(REQUESTS):
        seen.append([actor.loads[1:] for actor in actors])
    assert seen[0] == [[], []]
    assert sorted(map(len, seen[-1])) == [0, 1], "the one that answers last still has this one"
    assert all(spec == "next" for actor in actors for spec in actor.loads[1:])


def test_before_the_last_block_no_replica_leaves_its_checkpoint() -> None:
    actors = [Actor(), Actor()]
    engine = with_a_next_one(*actors)
    assert texts(engine) == RIGHT
    assert [actor.loads for actor in actors] == [["spec"], ["spec"]]


def test_a_part_that_is_lost_calls_back_who_went_ahead() -> None:
    early, late = Actor(), Actor()
    engine = with_a_next_one(early, late)
    engine.last_block()
    answers = engine.answer(REQUESTS)
    found = []
    for answer in answers:
        found.append(answer)
        if "next" in early.loads + late.loads:
            busy = late if "next" in early.loads else early
            if not busy.lost and busy.identity is SAME:
                busy.lost = [ActorDiedError("its node is gone")]
                busy.identity = ActorDiedError("its node is gone")
    assert {i: answer.text for i, answer in found} == RIGHT  # type: ignore[union-attr]
    assert [actor.identity is SAME for actor in (early, late)].count(False) == 1
    assert "next" in early.loads + late.loads
