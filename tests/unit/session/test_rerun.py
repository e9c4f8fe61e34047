"""The options that are repeated so that a command asks the same again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ckptbench.session.rerun import rerun_options


def options(*arguments: str) -> list[str]:
    config: Any = SimpleNamespace(
        invocation_params=SimpleNamespace(args=arguments), getoption=lambda *_: False
    )
    return list(rerun_options(config))


def test_how_the_model_and_its_prompts_are_made_is_repeated() -> None:
    wanted = [
        "--checkpoint=c",
        "--tokenizer=t",
        "--model-args=revision=r",
        "--apply-chat-template",
        "--system-instruction=be short",
        "--fewshot-as-multiturn=true",
        "--ckpt-gen-kwargs=until=x",
        "--data=real=x.jsonl",
        "--exact",
    ]
    assert options(*wanted, "--gate=off", "--baseline", "b.json", "-v", "benchmarks") == wanted


def test_a_value_of_its_own_is_joined_and_a_switch_takes_none() -> None:
    given = ("--limit", "30", "--exact", "benchmarks", "--tokenizer", "t")
    assert options(*given) == ["--limit=30", "--exact", "--tokenizer=t"]
    chat = ("--apply-chat-template", "--exact")
    assert options(*chat) == list(chat)
    assert options("--apply-chat-template", "name") == ["--apply-chat-template=name"]


def test_where_pytest_takes_its_settings_from_is_repeated_and_secrets_are_not() -> None:
    assert options("-c", "other.ini", "--rootdir", "x", "-k", "a") == [
        "-c", "other.ini", "--rootdir=x",
    ]  # fmt: skip
    assert options("--header", "Authorization: Bearer secret", "--limit=2") == ["--limit=2"]
