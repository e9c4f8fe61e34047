"""What an address means, and what is kept out of it."""

from __future__ import annotations

import argparse

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.found import checkpoint_params
from ckptbench.config.parsers import checkpoint_spec, header
from ckptbench.fixtures.checkpoints.address import is_address, parse_address
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.results.environment import hide_secrets


@pytest.mark.parametrize(
    ("spec", "root", "only"),
    [
        ("http://host:8000/v1", "http://host:8000/v1", ""),
        ("http://host:8000/v1/", "http://host:8000/v1", ""),
        ("http://host:8000", "http://host:8000/v1", ""),
        ("HTTPS://host/api/v1", "https://host/api/v1", ""),
        ("http://host/v1/completions", "http://host/v1", "completions"),
        ("http://host/v1/chat/completions", "http://host/v1", "chat"),
    ],
)
def test_an_address_is_the_root_or_one_of_its_paths(spec: str, root: str, only: str) -> None:
    address = parse_address(spec)
    assert (address.root, address.only) == (root, only)
    assert resolve(spec).kind.name == "endpoint"
    assert resolve(spec).model_kind == "causal"


def test_a_path_is_no_address() -> None:
    assert not is_address("runs/http/checkpoint-1")


@pytest.mark.parametrize(
    "spec", ["http://me:secret@host/v1", "http://host/v1?key=secret", "http://host/v1#secret"]
)
def test_a_login_in_an_address_is_refused_without_showing_it(spec: str) -> None:
    with pytest.raises(CkptbenchError) as caught:
        parse_address(spec)
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        checkpoint_spec(spec)
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "secret" not in str(caught.value) + str(refused.value)


@pytest.mark.parametrize("spec", ["http://", "http://host:port/v1", "http:///v1"])
def test_what_names_no_host_is_refused(spec: str) -> None:
    with pytest.raises(CkptbenchError, match="http://localhost:8000/v1"):
        parse_address(spec)


def test_only_this_machine_is_reached_without_a_proxy() -> None:
    here = ("http://localhost/v1", "http://127.0.0.1:8/v1", "http://[::1]:8/v1")
    assert all(parse_address(spec).is_loopback for spec in here)
    assert not parse_address("http://10.0.0.1/v1").is_loopback


def test_an_address_is_named_by_its_host() -> None:
    specs = ["http://one:8000/v1", "http://two:8000/v1/completions"]
    assert [given.name for given in checkpoint_params(specs)] == ["one-8000", "two-8000"]


def test_a_header_shows_its_name_only() -> None:
    given = header("X-Api-Key:  abcdef ")
    assert (given.name, given.value) == ("X-Api-Key", "abcdef")
    assert "abcdef" not in f"{given} {given!r} {[given]}"


@pytest.mark.parametrize("text", ["s3cret", ": s3cret", "two words: s3cret", "X: s3cret\nY: z"])
def test_what_is_no_header_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        header(text)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--header", "X-Key: s3cret"],
        ["--header=X-Key: s3cret"],
        ["--ckpt-header", "X-Key: s3cret"],
        ["-o", "ckpt_header=X-Key: s3cret"],
        ["-ockpt_header=X-Key: s3cret"],
    ],
)
def test_a_header_is_hidden_in_the_recorded_command_line(arguments: list[str]) -> None:
    assert "s3cret" not in " ".join(hide_secrets(arguments))


def test_the_folder_of_a_tokenizer_is_no_secret() -> None:
    assert hide_secrets(["--tokenizer", "runs/a"]) == ["--tokenizer", "runs/a"]
