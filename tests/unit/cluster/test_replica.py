"""What runs on a node, here in this process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckptbench import Filled, FillMask, Response
from ckptbench.config.options import Options
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.cluster.replica import Answered, Identity, Load, Refused, Replica

DEMO = "demo-mlm/checkpoint-6000"
ASKED = [FillMask("단풍은 색소가 든다.", (5, 7), "색소", top=5)]


@pytest.fixture
def replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replica:
    monkeypatch.chdir(tmp_path)  # which is undone afterwards
    return Replica(Options(device="cpu", seq_len=64), str(tmp_path))


def test_it_loads_what_a_call_names_and_answers(replica: Replica) -> None:
    answered = replica.answer(Load(DEMO), ASKED)
    assert isinstance(answered, Answered)
    assert not answered.failure
    assert isinstance(dict(answered.answers)[0], Filled)
    assert answered.identity.settings == {"seq_len": 64, "dtype": "fp32"}
    other = replica.describe(Load("demo-mlm/checkpoint-100"))
    assert isinstance(other, Identity)
    assert other.fingerprint != answered.identity.fingerprint


def test_relative_paths_are_those_of_the_session(replica: Replica, tmp_path: Path) -> None:
    shutil.copytree(resolve(DEMO).path, tmp_path / "copy")
    found, demo = replica.describe(Load("copy")), replica.describe(Load(DEMO))
    assert isinstance(found, Identity)
    assert isinstance(demo, Identity)
    assert found.fingerprint == demo.fingerprint


def test_what_the_node_lacks_is_absent(replica: Replica) -> None:
    found = replica.describe(Load("nowhere/checkpoint-1"))
    assert isinstance(found, Refused)
    assert found.absent
    assert "does not exist" in found.what


def test_what_it_finds_broken_is_refused(replica: Replica, tmp_path: Path) -> None:
    shutil.copytree(resolve(DEMO).path, tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    found = replica.answer(Load("cut"), ASKED)
    assert isinstance(found, Refused)
    assert not found.absent


def test_files_that_are_sent_are_the_same_checkpoint(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {file.name: file.read_bytes() for file in resolve(DEMO).path.iterdir()}
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=lambda content: content))
    found = replica.answer(Load("nowhere/checkpoint-1", files=sent), ASKED)
    own = replica.answer(Load(DEMO), ASKED)
    assert isinstance(found, Answered)
    assert isinstance(own, Answered)
    assert found.identity.fingerprint == own.identity.fingerprint
    assert found.answers == own.answers


def test_an_engine_that_raises_keeps_what_it_answered(replica: Replica) -> None:
    assert isinstance(replica.describe(Load(DEMO)), Identity)
    engine = replica._engine
    assert engine is not None

    whole = engine.answer

    def half(requests: object) -> Iterator[tuple[int, Response]]:
        yield from whole(ASKED)
        raise RuntimeError("no memory")

    engine.answer = half  # type: ignore[method-assign]
    found = replica.answer(Load(DEMO), ASKED * 2)
    assert isinstance(found, Answered)
    assert found.failure == "the engine failed: RuntimeError: no memory"
    assert [index for index, _ in found.answers] == [0]
    assert "no memory" in found.detail


def test_its_tokens_are_those_of_each_call(replica: Replica) -> None:
    first, again = (replica.answer(Load(DEMO), ASKED) for _ in range(2))
    assert isinstance(first, Answered)
    assert isinstance(again, Answered)
    assert first.tokens == again.tokens
    assert first.tokens is not None
    assert first.tokens.read > 0
    assert first.identity.gpus == 0
