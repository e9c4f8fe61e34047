"""Where the server is, and what of it may be seen."""

from __future__ import annotations

import argparse
import importlib.util
import os

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.config.tracking_uri import address_of, check_tracking, tracking_uri
from ckptbench.tracking.mlflow import client_environment


def test_a_uri_is_taken_as_it_is() -> None:
    for uri in ("http://localhost:5000", "https://u:p@host/x", "sqlite:///a.db", "databricks"):
        assert tracking_uri(uri) == uri


def test_the_variable_is_read_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://there:5000")
    assert tracking_uri("env") == "http://there:5000"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(argparse.ArgumentTypeError, match="which is not set"):
        tracking_uri("env")


def test_off_is_nowhere() -> None:
    assert tracking_uri("off") == ""


def test_what_is_no_uri_is_refused_without_its_login() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="got 'localhost:5000'"):
        tracking_uri("localhost:5000")
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        tracking_uri("9://user:geheim@host")
    assert "geheim" not in str(refused.value)


def test_an_http_login_travels_apart_from_the_uri() -> None:
    address = address_of("https://me:p%40ss%2Fword@host:5000/path")
    assert address.uri == address.shown == "https://host:5000/path"
    assert address.login == {
        "MLFLOW_TRACKING_USERNAME": "me",
        "MLFLOW_TRACKING_PASSWORD": "p@ss/word",
    }
    assert "word" not in repr(address)
    assert (
        address.hide("refused p@ss/word at https://me:x@host") == "refused *** at https://***@host"
    )


def test_the_login_of_a_store_is_hidden_where_it_is_shown() -> None:
    uri = "postgresql://me:geheim@host/runs"
    address = address_of(uri)
    assert address.uri == uri
    assert address.shown == "postgresql://***@host/runs"
    assert "geheim" not in address.hide(f"no connection to {uri}: password geheim refused")


def test_a_login_without_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(CkptbenchError, match="not a user and a password") as refused:
        address_of("https://token123@host")
    assert "token123" not in str(refused.value)


def test_a_session_that_could_not_be_sent_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "ckptbench.config.tracking_uri.find_spec",
        lambda name: None if name == "mlflow" else found(name),
    )
    check_tracking("")
    with pytest.raises(CkptbenchError, match=r"pip install 'ckptbench\[mlflow\]'"):
        check_tracking("http://localhost:5000")


@pytest.mark.slow
def test_a_kind_of_store_that_the_client_does_not_have_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "")  # restored at the end of the test
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY")
    with pytest.raises(
        CkptbenchError, match=r"MLflow cannot store runs there: .*unsupported URI"
    ) as refused:
        check_tracking("htp://user:geheim@localhost:5000")
    assert "--mlflow=htp://***@localhost:5000" in str(refused.value)
    assert "geheim" not in str(refused.value)
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    check_tracking("sqlite:///mlflow.db")
    check_tracking("databricks")


def test_the_clients_variables_last_as_long_as_the_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_TIMEOUT", raising=False)
    before = dict(os.environ)
    with client_environment("http://there", {"MLFLOW_TRACKING_PASSWORD": "geheim"}) as answered:
        assert os.environ["MLFLOW_TRACKING_PASSWORD"] == "geheim"
        assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "4"
        first = int(os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"])
        answered()
        assert int(os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"]) > first
    assert dict(os.environ) == before
