"""Every option has a long name of ours and a short one that gives way to other plugins."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.config.options import OPTIONS, headings
from ckptbench.config.parsers import SERVERS

OWNER = """
def pytest_addoption(parser):
    parser.addoption("--seed", help="theirs", metavar="WORD")
    parser.getgroup("theirs").addoption("--device", default="their default")
    parser.getgroup("theirs").addoption("--limit", action="append")


def pytest_report_header(config):
    theirs = [config.getoption(name) for name in ("--seed", "--device", "--limit")]
    return f"theirs: {theirs} ours: {config.option.ckpt_seed} {config.option.ckpt_limit}"
"""
SHOW = """

def pytest_report_header(config):
    from ckptbench.hooks import KEY
    return [f"{name}: {value}" for name, value in vars(config.stash[KEY].options).items()]
"""
GIVEN = {
    "checkpoint": "runs/a",
    "checkpoint-pattern": "checkpoint_epoch_*.pt",
    "from-step": "300",
    "steps-per-epoch": "655",
    "engine": "ray",
    "replicas": "3",
    "replica-resources": "gpus=0.5,cpus=4",
    "report": "html,md",
    "lang": "ko",
    "model": "served",
    "header": "X-Key: abcdefgh",
    "tokenizer": "runs/a",
    "concurrency": "4",
    "retries": "2",
    "request-timeout": "7.5",
    "serve": "vllm",
    "gate": "strict",
    "tolerance": "word@1=2.5",
    "alpha": "0.01",
    "must-see": "4",
    "gate-on": "word@1,word/word@5",
    "allow-mismatch": "temperature,max-tokens",
    "seq-len": "256",
    "limit": "2",
    "shard": "2/3",
    "seed": "3",
    "num-samples": "5",
    "temperature": "0.8",
    "top-p": "0.95",
    "max-tokens": "64",
    "k": "word=1,7",
    "protocol": "word=plain",
    "real-data": "real.jsonl",
    "lambada-data": "lambada.jsonl",
    "humaneval-data": "humaneval.jsonl",
    "mbpp-data": "mbpp.jsonl",
    "codecontests-data": "contests.jsonl",
    "codecontests-tests": "sample:4",
    "exec-timeout": "1.5",
    "exec-memory": "2G",
    "exec-libraries": "numpy",
    "tasks": "gsm8k,arc_easy",
    "include-path": "tasks",
    "num-fewshot": "5",
    "apply-chat-template": "rag",
    "system-instruction": "Be brief.",
    "fewshot-as-multiturn": "false",
    "gen-kwargs": "temperature=0.6,until=['a,b']",
    "model-args": "attn_implementation=eager",
    "device": "cuda:1",
    "dtype": "bf16",
    "batch-size": "16",
    "batch-tokens": "4096",
    "noise-floor": "40",
    "run-id": "mine",
    "junit": "samples",
    "results-dir": "elsewhere",
    "mlflow": "http://localhost:5000",
}
SWITCHES = {
    "data",
    "data-dir",
    "eval-config",
    "list-benchmarks",
    "validate-config",
    "exact",
    "dry-run",
    "gpu",
    "max-length",
    "baseline",
    "update-baseline",
    "decide",  # which needs a baseline
    "no-resume",
    "unsafe-exec",
}
READ = {
    "serve": SERVERS["vllm"],
    "exec-memory": "2048",
    "exec-libraries": "('numpy',)",
    "header": "(Header(name='X-Key'),)",
    "tasks": "('gsm8k', 'arc_easy')",
    "include-path": "(PosixPath('tasks'),)",
    "checkpoint": "('runs/a',)",
    "report": "('html', 'md')",
    "fewshot-as-multiturn": "False",
    "gen-kwargs": '{"temperature": 0.6, "until": ["a,b"]}',
    "model-args": "{'attn_implementation': 'eager'}",
    "replica-resources": "{'gpus': 0.5, 'cpus': 4.0}",
    "tolerance": "{'word@1': 0.025}",
    "must-see": "0.04",
    "gate-on": "('word@1', 'word/word@5')",
    "allow-mismatch": "('temperature', 'max_tokens')",
    "k": "{'word': (1, 7)}",
    "protocol": "{'word': ('word/plain',)}",
}


def test_the_list_here_is_whole() -> None:
    assert GIVEN.keys() == {o.name for o in OPTIONS} - SWITCHES


@pytest.mark.parametrize("prefix", ["--ckpt-", "--"])
def test_every_option_is_read_from_the_command_line(standard: Any, prefix: str) -> None:
    standard.write(conftest=SHOW)
    standard.file("runs/a/checkpoint_epoch_3.pt", "")
    result = standard.run(
        "--collect-only", *[f"{prefix}{name}={text}" for name, text in GIVEN.items()]
    )
    for name, text in GIVEN.items():
        assert f"{name.replace('-', '_')}: {READ.get(name, text)}" in result.outlines


def test_every_option_is_read_from_the_ini_file(standard: Any) -> None:
    standard.write(conftest=SHOW)
    standard.file("runs/a/checkpoint_epoch_3.pt", "")
    lines = [f"ckpt_{name.replace('-', '_')} = {text}" for name, text in GIVEN.items()]
    standard.file("pytest.ini", "\n".join(["[pytest]", *lines, "ckpt_no_resume = true"]))
    result = standard.run("--collect-only")
    for name, text in GIVEN.items():
        assert f"{name.replace('-', '_')}: {READ.get(name, text)}" in result.outlines
    assert "no_resume: True" in result.outlines


def test_a_folder_of_datasets_stands_for_their_files(standard: Any) -> None:
    standard.write(conftest=SHOW)
    standard.file("data/humaneval/processed/test.jsonl", "")
    standard.file("data/mbpp.jsonl", "")
    result = standard.run("--data-dir=data", "--mbpp-data=mine.jsonl", "--collect-only")
    assert "humaneval_data: data/humaneval/processed/test.jsonl" in result.outlines
    assert "mbpp_data: mine.jsonl" in result.outlines
    assert "codecontests_data: None" in result.outlines
    standard.file("pytest.ini", "[pytest]\nckpt_data_dir = data\n")
    assert "mbpp_data: data/mbpp.jsonl" in standard.run("--collect-only").outlines


def test_what_a_folder_of_datasets_lacks_is_said(standard: Any) -> None:
    standard.write()
    standard.file("data/humaneval/processed/test.jsonl", "")
    result = standard.run("--data-dir=data")
    assert (
        "--data-dir data holds no data of real, lambada, mbpp, codecontests" in result.stdout.str()
    )
    result = standard.run("--data-dir=absent")
    assert result.ret == 4
    assert "absent: there is no such folder" in result.stderr.str() + result.stdout.str()


def test_settings_in_pyproject_toml(standard: Any) -> None:
    standard.write(conftest=SHOW)
    standard.file("pyproject.toml", '[tool.pytest.ini_options]\nckpt_seed = "5"\n')
    assert "seed: 5" in standard.run("--collect-only").outlines


LISTS = """
ckpt_checkpoint = ["runs/a", "runs/b"]
ckpt_k = ["word=1,5", "letter=1"]
ckpt_report = ["html", "md"]
ckpt_header = ["X-Key: abcdefgh"]
"""
READ_OF_LISTS = [
    "checkpoint: ('runs/a', 'runs/b')",
    "k: {'word': (1, 5), 'letter': (1,)}",
    "report: ('html', 'md')",
]


@pytest.mark.parametrize("table", ["tool.pytest.ini_options", "tool.pytest"])
def test_values_of_toml_need_no_text_around_them(standard: Any, table: str) -> None:
    if table == "tool.pytest" and int(pytest.__version__.partition(".")[0]) < 9:
        pytest.skip("pytest 9 is the first to read that table")
    standard.write(conftest=SHOW)
    own = "ckpt_seq_len = 64\nckpt_temperature = 0.5\nckpt_no_resume = true\n"
    standard.file("pyproject.toml", f"[{table}]{LISTS}{own}")
    result = standard.run("--collect-only", "-p", "no:ckptbench-fixtures", "-W", "error")
    numbers = ["seq_len: 64", "temperature: 0.5", "no_resume: True"]
    for line in (*READ_OF_LISTS, *numbers):
        assert line in result.outlines
    assert "X-Key" in result.stdout.str()
    standard.file("pyproject.toml", f'[{table}]\nckpt_k = [1, 5]\nckpt_dry_run = "maybe"\n')
    result = standard.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *: ckpt_*: expected *"])


def test_the_command_line_wins_over_the_ini_file(standard: Any) -> None:
    standard.write(conftest=SHOW)
    standard.file("pytest.ini", "[pytest]\nckpt_seed = 5\n")
    assert "seed: 6" in standard.run("--collect-only", "--seed=6").outlines


def test_options_that_may_be_given_again_are_collected(standard: Any) -> None:
    standard.write(conftest=SHOW)
    result = standard.run(
        "--collect-only",
        *("--checkpoint=a", "--checkpoint=b", "--tolerance=word@1=1", "--tolerance=word@5=2"),
    )
    assert "checkpoint: ('a', 'b')" in result.outlines
    assert "tolerance: {'word@1': 0.01, 'word@5': 0.02}" in result.outlines


def test_help_shows_both_names(standard: Any) -> None:
    result = standard.run("--help")
    assert result.ret == 0
    text = result.stdout.str()
    for option in OPTIONS:
        assert f"--ckpt-{option.name}" in text
        assert f"ckpt_{option.field}" in text


def test_every_option_stands_under_one_heading_of_help(standard: Any) -> None:
    assert [each for members in headings().values() for each in members] == list(OPTIONS)
    lines = standard.run("--help").outlines
    shown = [line for line in lines if line.startswith("ckptbench")]
    assert shown == [f"ckptbench: {title}:" for title in headings()]


@pytest.mark.parametrize("when", ["before", "after", "in a conftest"])
def test_another_plugin_keeps_its_names_and_ours_answers_to_the_long_ones(
    standard: Any, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--seed=abc", "--device=moon", "--limit=no", "--ckpt-seed=3", "--ckpt-limit=2"]
    if when == "in a conftest":
        standard.write(conftest=OWNER)
    elif when == "before":  # a plugin named with -p is registered before the installed ones
        standard.file("owner.py", OWNER)
        arguments = ["-p", "owner", *arguments]
    else:
        standard.file("owner.py", OWNER)
        monkeypatch.setenv("PYTEST_PLUGINS", "owner")
    monkeypatch.syspath_prepend(standard.path)
    result = standard.run_apart(*arguments) if when == "after" else standard.run(*arguments)
    result.stdout.fnmatch_lines(["theirs: ?'abc', 'moon', ?'no'?? ours: 3 2"])
    assert result.ret == 0
    assert standard.coverage["planned"] == 2


def test_another_plugins_default_is_not_ours(standard: Any) -> None:
    standard.write(conftest=OWNER)
    result = standard.run()
    result.stdout.fnmatch_lines(["theirs: ?None, 'their default', None? ours: None None"])
    assert standard.coverage["planned"] == 4


def test_a_conftest_that_takes_our_long_name_is_pytests_own_error(standard: Any) -> None:
    standard.write(
        conftest="\ndef pytest_addoption(parser):\n    parser.addoption('--ckpt-seed')\n"
    )
    result = standard.run_apart()
    assert result.ret != 0


def test_short_names_reach_the_workers(standard: Any) -> None:
    pytest.importorskip("xdist")
    standard.write(conftest=OWNER)
    result = standard.run_apart("-n1", "--seed=abc", "--ckpt-limit=2")
    assert result.ret == 0
    assert standard.coverage["planned"] == 2


@pytest.mark.parametrize(
    ("given", "means"), [("--gpu=2", "device: cuda:2"), ("--max-length=128", "seq_len: 128")]
)
def test_an_option_that_means_another_one_sets_it(standard: Any, given: str, means: str) -> None:
    standard.write(conftest=SHOW)
    assert means in standard.run("--collect-only", given).outlines


def test_two_options_that_contradict_are_refused(standard: Any) -> None:
    result = standard.run("--gpu=1", "--device=cpu")
    assert result.ret == 4
    assert "--gpu=1 and --device=cpu contradict" in result.stderr.str()


def test_the_command_line_wins_whichever_of_two_names_it_uses(standard: Any) -> None:
    standard.write(conftest=SHOW)
    standard.file("pytest.ini", "[pytest]\nckpt_seq_len = 64")
    assert "seq_len: 128" in standard.run("--collect-only", "--max-length=128").outlines


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ((), "False"),
        (("--apply-chat-template",), "True"),
        (("--apply-chat-template=true",), "True"),
        (("--apply-chat-template=false",), "False"),
        (("--apply-chat-template", "rag"), "rag"),
    ],
)
def test_an_option_that_may_stand_alone(standard: Any, given: tuple[str, ...], value: str) -> None:
    standard.write(conftest=SHOW)
    result = standard.run("--collect-only", "--tasks=gsm8k", *given)
    assert f"apply_chat_template: {value}" in result.outlines


@pytest.mark.parametrize(
    "option",
    ["--apply-chat-template", "--system-instruction=x", "--gen-kwargs=temperature=0"],
)
def test_options_of_tasks_are_refused_where_no_task_is_named(standard: Any, option: str) -> None:
    standard.write()
    result = standard.run(option)
    assert result.ret == 4
    assert "this option is for lm-eval tasks, and none is named" in "".join(result.errlines)
