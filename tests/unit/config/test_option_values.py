"""What the text of an option means, and what is refused."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from ckptbench import CkptbenchError
from ckptbench.config.command_line import check_names
from ckptbench.config.options import OPTIONS, Options, remaking_options, sampling_options
from ckptbench.config.parsers import (
    device,
    ks,
    limit,
    one_of,
    positive_int,
    positive_int_or_auto,
    probability,
    protocols,
    run_id,
    serve,
    share,
    temperature,
    tolerances,
    whole_number,
)

Parser = Callable[[str], Any]

READ: list[tuple[Parser, str, Any]] = [
    (positive_int, "12", 12),
    (positive_int_or_auto, "auto", None),
    (positive_int_or_auto, "512", 512),
    (whole_number, "0", 0),
    (whole_number, "42", 42),
    (limit, "200", 200),
    (limit, "1", 1),
    (limit, "0.2", 0.2),
    (limit, "1e3", 1000),
    (probability, "0.05", 0.05),
    (share, "1", 1.0),
    (share, "0.95", 0.95),
    (temperature, "0", 0.0),
    (temperature, "0.8", 0.8),
    (one_of("a", "b"), "b", "b"),
    (device, "auto", "auto"),
    (device, "cpu", "cpu"),
    (device, "cuda", "cuda"),
    (device, "cuda:3", "cuda:3"),
    (tolerances, "1.5", {"*": 0.015}),
    (tolerances, "real@1=1.0,pass@1=2", {"real@1": 0.01, "pass@1": 0.02}),
    (tolerances, "a=b@1=100", {"a=b@1": 1.0}),
    (tolerances, "real@1=0", {"real@1": 0.0}),
    (tolerances, "t exact_match,strict=1,real@1=2", {"t exact_match,strict": 0.01, "real@1": 0.02}),
    (ks, "real=5,1", {"real": (1, 5)}),
    (ks, "real=1,1", {"real": (1,)}),
    (protocols, "real=origin", {"real": ("real/origin",)}),
    (protocols, "real=real/origin, whole-word", {"real": ("real/origin", "real/whole-word")}),
    (run_id, "2024-05-01 best", "2024-05-01 best"),
    (serve, "my {port} {checkpoint}", "my {port} {checkpoint}"),
    (serve, "vllm", "vllm serve {checkpoint} --host 127.0.0.1 --port {port}"),
]
REFUSED: list[tuple[Parser, str]] = [
    *[(positive_int, text) for text in ("0", "-1", "1.5", "many", "")],
    *[(positive_int_or_auto, text) for text in ("0", "Auto", "none")],
    *[(whole_number, text) for text in ("-1", "1.0", "x", "")],
    *[(limit, text) for text in ("0", "-0.2", "nan", "inf", "1.5", "half")],
    *[(probability, text) for text in ("0", "1", "-0.1", "5%", "nan")],
    *[(share, text) for text in ("0", "1.1", "-1", "nan", "all")],
    *[(temperature, text) for text in ("-0.1", "inf", "nan", "hot")],
    *[(one_of("a", "b"), text) for text in ("c", "", "A")],
    *[(device, text) for text in ("gpu", "cuda:", "cuda:x", "cpu:0", "auto:1", "")],
    *[
        (tolerances, t)
        for t in (
            "real@1=1,real@5",
            "real@1=",
            "=1",
            "x",
            "real@1=101",
            "real@1=-1",
            "nan",
            "a=nan",
        )
    ],
    *[(ks, text) for text in ("real", "=1", "real=", "real=0", "real=1,x", "")],
    *[(protocols, text) for text in ("real", "=x", "real=", "real=,")],
    *[(serve, text) for text in ("", "sglang", "a {port}", "a {checkpoint}")],
    *[(run_id, text) for text in ("", ".", "..", "a/b", "a\\b", "a\0b")],
]


@pytest.mark.parametrize(("parse", "text", "value"), READ)
def test_a_value_is_read(parse: Parser, text: str, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text"), REFUSED)
def test_a_refusal_says_what_was_expected_and_what_was_given(parse: Parser, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        parse(text)
    assert str(raised.value).startswith("expected ")
    assert str(raised.value).endswith(f"got {text!r}")


def test_a_limit_of_one_is_one_sample_and_not_all() -> None:
    assert isinstance(limit("1"), int)
    assert isinstance(limit("0.999"), float)


def test_every_option_is_declared_once_and_documented() -> None:
    assert [f.name for f in fields(Options)] == [*(option.field for option in OPTIONS), "sources"]
    assert all(option.help and "\n" not in option.help for option in OPTIONS)
    assert all(option.metavar for option in OPTIONS if option.parse is not None)


def test_help_shows_a_default_that_there_is_to_show() -> None:
    shown = {option.name: option.help_text for option in OPTIONS}
    assert shown["concurrency"].endswith(" (default 16)")
    assert shown["results-dir"].endswith(" (default results)")
    assert shown["temperature"] == "sampling temperature (default 0: greedy)"
    assert not any(
        "default" in shown[name] for name in ("limit", "dry-run", "gate-on", "model-args")
    )


def test_an_option_says_whether_it_makes_other_items_or_other_answers() -> None:
    assert sampling_options() == ("seed", "num_samples", "temperature", "top_p", "max_tokens")
    names = {each.name for each in remaking_options()}
    assert {"checkpoint", "limit", "k", "max-tokens", "exec-timeout"} <= names
    assert {"tokenizer", "model-args", "apply-chat-template", "gen-kwargs", "model"} <= names
    assert {"gate", "baseline", "run-id", "concurrency"}.isdisjoint(names)


def test_only_headers_are_secret() -> None:
    assert [option.name for option in OPTIONS if option.secret] == ["header"]


def options(**given: Any) -> Options:
    return Options(**given)


KNOWN = {"real": ("real/whole-word", "real/origin"), "lambada": ("lambada/choice",)}


def test_names_of_what_was_collected_pass() -> None:
    check_names(options(k={"real": (1,)}, protocol={"real": ("real/origin",)}), KNOWN)


@pytest.mark.parametrize(
    ("given", "where", "hint"),
    [
        ({"k": {"rael": (1,)}}, "--k", "(did you mean 'real'?)"),
        ({"protocol": {"lambda": ("lambda/choice",)}}, "--protocol", "(did you mean 'lambada'?)"),
        ({"protocol": {"real": ("real/orign",)}}, "--protocol", "(did you mean 'real/origin'?)"),
    ],
)
def test_a_mistyped_name_gets_the_nearest_known(
    given: dict[str, Any], where: str, hint: str
) -> None:
    with pytest.raises(CkptbenchError) as raised:
        check_names(options(**given), KNOWN)
    assert raised.value.where == where
    assert hint in raised.value.what
    assert raised.value.remedy
