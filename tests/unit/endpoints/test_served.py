"""Checkpoints that a server is started for: what is refused, and whose answers they are."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from ckptbench import CkptbenchError
from ckptbench.api.requests import Generate
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.config.options import Options
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.endpoints.identity import Identity
from ckptbench.fixtures.endpoints.served import (
    Server,
    as_served,
    check_servable,
    free_port,
    hash_of,
)

COMMAND = f"{sys.executable} {{checkpoint}} {{port}}"
DEMO_SERVER = Path(__file__).parents[2] / "servers/demo_server.py"


def refusal(*specs: str, **options: Any) -> str:
    with pytest.raises(CkptbenchError) as caught:
        check_servable(Options(**{"serve": COMMAND, **options}), [resolve(spec) for spec in specs])
    return str(caught.value)


def test_what_a_server_can_load_passes() -> None:
    check_servable(Options(serve=COMMAND, model_args={"revision": "a"}), [resolve("demo-code")])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [("http://127.0.0.1:9/v1", "a server already"), ("demo-mlm", "fills no blanks")],
)
def test_what_no_server_can_load_is_refused(spec: str, reason: str) -> None:
    message = refusal("demo-code", spec)
    assert message.startswith(f"--serve: {spec} is a")
    assert reason in message


def test_an_adapter_is_served_by_a_command_with_its_base_and_by_the_name_it_gets(
    tmp_path: Path,
) -> None:
    base = resolve("demo-code").path
    config = {"peft_type": "LORA", "base_model_name_or_path": str(base)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    shutil.copy(base / "model.safetensors", tmp_path / "adapter_model.safetensors")
    both = f"{COMMAND} {{base}}"
    assert f"--serve: {tmp_path} is an adapter" in refusal(str(tmp_path), model="a")
    assert "demo-code is no adapter" in refusal("demo-code", serve=both, model="a")
    for name in ("", str(base)):
        assert "has its base too\n  give as --model" in refusal(
            str(tmp_path), serve=both, model=name
        )
    check_servable(Options(serve=both, model="a"), [resolve(str(tmp_path))])
    assert hash_of(tmp_path, base) != hash_of(tmp_path, resolve("demo-mlm").path)


@pytest.mark.parametrize(
    ("program", "remedy"),
    [("vllm-of-nobody", "with `env`"), ("A=1", "with `env`")],
)
def test_a_program_that_is_missing_is_named(program: str, remedy: str) -> None:
    message = refusal("demo-code", serve=f"{program} {{checkpoint}} {{port}}")
    assert message.startswith(f"--serve: {program}: command not found")
    assert remedy in message


def test_a_known_program_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    message = refusal("demo-code", serve="vllm serve {checkpoint} --port {port}")
    assert message == "--serve: vllm: command not found\n  pip install vllm"


def test_how_a_model_is_loaded_here_does_not_go_with_a_server() -> None:
    message = refusal("demo-code", model_args={"trust_remote_code": "x"})
    assert message.startswith("--model-args trust_remote_code: a server loads its model itself")


def test_a_gguf_file_is_measured_through_a_server_only(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.touch()
    found = resolve(str(file))
    check_servable(Options(serve=COMMAND), [found])
    with pytest.raises(CkptbenchError, match="--serve=llama-server"):
        found.kind.load(found, LoadOptions())


@pytest.mark.skipif(sys.platform != "linux", reason="a port is held on Linux")
def test_a_held_port_is_given_to_nobody_but_whoever_asks_for_it() -> None:
    with free_port() as port, socket.socket() as server, socket.socket() as other:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with socket.create_connection(("127.0.0.1", port)):
            pass


def test_all_parts_of_a_gguf_file_are_hashed(tmp_path: Path) -> None:
    parts = [tmp_path / f"a-0000{i}-of-00002.gguf" for i in (1, 2)]
    for part in (*parts, tmp_path / "b-00001-of-00002.gguf"):
        part.write_text(part.name)
    before = hash_of(parts[0])
    (tmp_path / "b-00001-of-00002.gguf").write_text("another model")
    assert hash_of(parts[0]) == before
    parts[1].write_text("other weights")
    assert hash_of(parts[0]) != before


def test_words_with_braces_and_spaces_reach_a_server_as_they_are(tmp_path: Path) -> None:
    log = tmp_path / "log"
    show = "import sys; print(sys.argv[1:])"
    command = f"{sys.executable} -c '{show}' '{{\"a\": 1}}' x={{port}} {{checkpoint}}"
    demo = resolve("demo-code")
    server = Server(demo, command, 7, log)
    with pytest.raises(CkptbenchError, match="exit status 0"):
        server.wait(60)
    server.stop()
    assert str(['{"a": 1}', "x=7", str(demo.path)]) in log.read_text()


@pytest.mark.slow
def test_a_fingerprint_is_of_the_files_and_the_command_and_not_of_the_port(
    serve: Any, connected: Any
) -> None:
    def fingerprint(identity: Identity | None, run: str = "r") -> str:
        found: str = connected(serve(), identity=identity, run=run).fingerprint
        return found

    one = fingerprint(Identity("command", "files"))
    assert one == fingerprint(Identity("command", "files"))
    others = [Identity("command", "other files"), Identity("other command", "files"), None]
    assert (
        len({one, *map(fingerprint, others), fingerprint(Identity("command", "files"), "s")}) == 5
    )


@pytest.mark.slow
def test_answers_are_those_of_the_server_at_an_address(
    tmp_path: Path, serve: Any, engine_of: Any
) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    requests = [Generate(f"def f{i}(a, b):\n", max_tokens=24) for i in range(4)]
    by_hand = dict(engine_of(serve()).answer(requests))
    command = f"{sys.executable} {DEMO_SERVER} {{checkpoint}} {{port}}"
    checkpoint = as_served(resolve("demo-code"), command, tmp_path / "log")
    with checkpoint.kind.load(checkpoint, LoadOptions(session=Options(run_id="r"))) as endpoint:
        engine = EndpointEngine(endpoint)
        assert dict(engine.answer(requests)) == by_hand
    assert engine.facts["served_by"] == command
