"""Sending where nobody answers, and into a store without a server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.cli import main
from ckptbench.tracking.mlflow import track, tracking_message

pytestmark = pytest.mark.skipif(
    find_spec("mlflow") is None, reason="mlflow is not installed: pip install 'ckptbench[mlflow]'"
)


@pytest.fixture
def folder(make_session: Any, make_checkpoint: Any, write_run: Any, tmp_path: Path) -> Path:
    found: Path = write_run(tmp_path / "nightly", make_session(make_checkpoint(100, 0.4)))
    return found


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where connections are taken and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed(silent: int) -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_a_server_that_is_down_is_named_with_the_command_that_sends_later(
    folder: Path, closed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    told = tracking_message(folder, f"http://127.0.0.1:{closed}")
    assert told.startswith(f"MLflow: not tracked, http://127.0.0.1:{closed}: ")
    assert "Connection refused" in told
    assert f"`ckptbench mlflow nightly --uri http://127.0.0.1:{closed}` sends it later" in told


def test_a_server_that_says_nothing_is_given_up(
    folder: Path, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert "timed out" in tracking_message(folder, f"http://127.0.0.1:{silent}").lower()


def test_a_login_is_in_no_message(folder: Path, closed: int) -> None:
    told = tracking_message(folder, f"http://me:geheim@127.0.0.1:{closed}")
    assert "geheim" not in told
    assert "--uri URI" in told


def test_what_is_no_run_is_refused_before_anything_is_sent(tmp_path: Path, closed: int) -> None:
    with pytest.raises(CkptbenchError, match=r"holds no summary\.json"):
        track(tmp_path, f"http://127.0.0.1:{closed}")


def test_the_command_needs_a_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert main(["mlflow", str(folder)]) == 2
    assert "no server to send to" in capsys.readouterr().err


def test_the_command_takes_the_server_from_the_variable(
    folder: Path, closed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{closed}")
    assert main(["mlflow", str(folder)]) == 2
    assert f"http://127.0.0.1:{closed}: the run was not sent" in capsys.readouterr().err


def test_a_cause_outside_the_transport_is_told_too(folder: Path) -> None:
    told = tracking_message(folder, "gopher://host/runs")
    assert told.startswith("MLflow: not tracked, gopher://host/runs: ")
    assert "everything is on disk" in told
    assert (folder / "summary.json").exists()
