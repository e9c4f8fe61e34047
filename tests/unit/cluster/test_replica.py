"""What runs on a node, here in this process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from waiting import wait_until

from ckptbench import Filled, FillMask, Generate, Response
from ckptbench.config.options import Options
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.cluster.replica import Answered, Identity, Load, Refused, Replica
from ckptbench.fixtures.cluster.sending import sent_of

DEMO = "demo-mlm/checkpoint-6000"
WRITTEN = [Generate("def add(a, b):", max_tokens=8)]
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


def a_folder(place: Path) -> str:
    """With a chat template in a folder of its own, and what a trainer saves beside a model."""
    shutil.copytree(resolve("demo-code").path, place / "model")
    (place / "model/additional_chat_templates").mkdir()
    (place / "model/additional_chat_templates/short.jinja").write_text("{{ messages }}", "utf-8")
    (place / "model/optimizer.pt").touch()
    return str(place / "model")


def a_file(place: Path, **config: str) -> str:
    """Its configuration is one folder up, its tokenizer in a folder beside it."""
    shutil.copytree(resolve("demo-code").path, place / "tokenizer")
    (place / "checkpoints/tokenizer").mkdir(parents=True)
    weights = load_file(place / "tokenizer/model.safetensors")
    (place / "tokenizer/config.json").rename(place / "config.json")
    for file in (place / "tokenizer").glob("tokenizer*"):
        file.rename(place / "checkpoints/tokenizer" / file.name)
    content = {"model_state_dict": weights, "epoch": 3, "config": config}
    torch.save(content, place / "checkpoints/best.pt")
    return str(place / "checkpoints/best.pt")


def a_file_that_names_its_model(place: Path) -> str:
    shutil.copytree(resolve("demo-code").path, place / "named")
    return a_file(place, base_model="../named")


def an_adapter(place: Path) -> str:
    torch.manual_seed(0)
    base = a_folder(place)
    model = AutoModelForCausalLM.from_pretrained(base)
    adapter = get_peft_model(model, LoraConfig(target_modules=["q_proj"], init_lora_weights=False))
    adapter.save_pretrained(place / "adapter")
    return f"{base}+adapter={place / 'adapter'}"


@pytest.mark.parametrize("made", [a_folder, a_file, a_file_that_names_its_model, an_adapter])
def test_files_that_are_sent_are_the_same_checkpoint(
    replica: Replica,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[Path], str],
) -> None:
    spec = made(tmp_path / "here")
    sent = sent_of(resolve(spec))
    assert sent is not None
    assert not any("optimizer" in name for name in sent.files)
    stored = replace(sent, files={name: file.read_bytes() for name, file in sent.files.items()})
    own = replica.answer(Load(spec), WRITTEN)
    shutil.rmtree(tmp_path / "here")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=lambda content: content))
    found = replica.answer(Load(spec, sent=stored), WRITTEN)
    assert isinstance(own, Answered)
    assert isinstance(found, Answered), found
    assert found.identity.fingerprint == own.identity.fingerprint
    assert found.answers == own.answers
    assert found.identity.notes == own.identity.notes


HOLDS_A_FOLDER = """
import time
from ckptbench.fixtures.cluster.sending import Sent

with Sent("{sent}/model", {"model/weights": b"-"}).unpacked(lambda content: content) as (spec, _):
    print(spec, flush=True)
    time.sleep(600)
"""


def test_what_was_sent_goes_with_a_process_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_FOLDER], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        model = Path(process.stdout.readline().decode().strip())
        assert (model / "weights").read_bytes() == b"-"
        process.kill()
    wait_until(lambda: not model.parent.exists())


def test_what_is_on_no_disk_is_not_sent() -> None:
    assert sent_of(resolve("http://127.0.0.1:1/v1")) is None


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


@pytest.mark.parametrize(("given", "used", "held"), [
    ({}, 1, 1),
    ({"gpus": 0.5}, 1, 0.5),  # another replica has the other half
    ({"gpus": 2.0}, 1, 2),
    ({"gpus": 1.0}, 0, 0),
    ({"gpus": 1.0}, None, None),
])  # fmt: skip
def test_it_holds_what_the_cluster_gave_it_of_gpus(
    given: dict[str, float], used: int | None, held: float | None
) -> None:
    assert Replica(Options(replica_resources=given), "")._held(used) == held
