"""`--data BENCH=FILE`: which file a benchmark reads, whoever names it."""

from __future__ import annotations

import json
from typing import Any

import pytest

# A name in a configuration file that nobody collected is looked up among lm-eval's tasks.
pytestmark = pytest.mark.usefixtures("one_lm_eval_index")

READS_A_FILE = """
from ckptbench import EvalProtocol, FillMask, Sample, samples, top_k


def rows(options, file):
    texts = file.read_text().splitlines() if file else ["right shipped"]
    return [Sample(f"s-{i:02}", {"text": text}) for i, text in enumerate(texts)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(rows, protocol=EvalProtocol("word/plain", ask), score=top_k(1, 5))
def test_word(response, k):
    assert response.within(k)


@samples([Sample("l-00", {"text": "right letter"})],
         protocol=EvalProtocol("letter/plain", ask), score=top_k(1))
def test_letter(response, k):
    assert response.within(k)
"""
OPTIONS_SHOWN = """

def pytest_report_header(config):
    from ckptbench.hooks import KEY
    options = config.stash[KEY].options
    return [f"mbpp: {options.mbpp_data} {options.data.get('mbpp')}"]
"""


@pytest.fixture
def words(project: Any) -> Any:
    """A project whose benchmark `word` reads a file, and whose `letter` reads none."""
    project.write((), benchmark=READS_A_FILE, by_hand="", conftest=OPTIONS_SHOWN)
    project.file("mine.txt", "right one\nright two\n")
    return project


def asked(words: Any, *args: str) -> list[str]:
    """The texts of `word` that a session asks."""
    words.forget_asked()
    result = words.run("-k", "test_word", "--no-resume", *args)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    return sorted(words.asked)


def refused(result: pytest.RunResult) -> str:
    """What a session that did not begin printed."""
    assert result.ret in (2, 4)
    return str(result.stdout.str() + result.stderr.str())


def test_a_benchmark_reads_the_file_that_the_option_names(words: Any) -> None:
    assert asked(words) == ["right shipped"]
    assert asked(words, "--data=word=mine.txt") == ["right one", "right two"]
    assert asked(words, "--ckpt-data=word=mine.txt") == ["right one", "right two"]
    assert words.summary["given"]["data"] == {
        "value": "word=mine.txt",
        "source": "command line",
    }
    assert "--ckpt-data=word=mine.txt" in words.summary["rerun_options"]


def test_the_ini_file_names_it_for_whoever_is_collected(words: Any) -> None:
    words.file("pytest.ini", "[pytest]\nckpt_data =\n    word=mine.txt\n    absent=other.txt\n")
    assert asked(words) == ["right one", "right two"]
    words.file("other.txt", "right three\n")
    assert asked(words, "--data=word=other.txt") == ["right three"]


def test_the_configuration_file_names_it_and_the_command_line_wins(words: Any) -> None:
    words.file("eval.json", json.dumps({"tasks": {"word": {"data": "mine.txt"}}}))
    assert asked(words, "--eval-config=eval.json") == ["right one", "right two"]
    words.file("other.txt", "right three\n")
    chosen = asked(words, "--eval-config=eval.json", "--data=word=other.txt")
    assert chosen == ["right three"]
    words.file("pytest.ini", "[pytest]\nckpt_data = word=other.txt\n")
    assert asked(words, "--eval-config=eval.json") == ["right one", "right two"]


def test_a_folder_of_datasets_has_it_by_the_benchmarks_name(words: Any) -> None:
    words.file("data/mbpp.jsonl", "")
    words.file("data/word/test.jsonl", "right three\n")
    assert asked(words, "--data-dir=data") == ["right three"]
    assert asked(words, "--data-dir=data", "--data=word=mine.txt") == ["right one", "right two"]


def test_workers_read_the_same_file(words: Any) -> None:
    result = words.run_apart("-n1", "-k", "test_word", "--data=word=mine.txt")
    assert result.ret == 0
    assert sorted(words.asked) == ["right one", "right two"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data=wrd=mine.txt"], "--data: no benchmark named 'wrd' was collected (did you mean"),
        (
            ["--data=word=mine.tx"],
            "--data=word: there is no file mine.tx (did you mean 'mine.txt'?",
        ),
        (["--data=letter=mine.txt"], "--data=letter: letter reads no data file"),
        (["--data=word"], "expected BENCH=FILE such as mbpp=data/mbpp.jsonl, got 'word'"),
        (
            ["--data=mbpp=a", "--mbpp-data=b"],
            "--mbpp-data=b and --data=mbpp=a contradict",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(words: Any, options: list[str], message: str) -> None:
    assert message in refused(words.run(*options))


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"letter": {"data": "mine.txt"}}, "eval.json: tasks.letter.data: letter reads no data"),
        ({"word": {"data": "mine.tx"}}, "tasks.word.data: there is no file mine.tx (did you mean"),
        ({"word": {"data": 3}}, "tasks.word.data: expected a file, got 3"),
        (
            {"both": {"tasks": ["word", "letter"], "data": "mine.txt"}},
            "tasks.both: expected a single benchmark beside `data`",
        ),
    ],
)
def test_a_configuration_file_is_checked_alike(
    words: Any, tasks: dict[str, Any], message: str
) -> None:
    words.file("eval.json", json.dumps({"tasks": tasks}))
    assert message in refused(words.run("--eval-config=eval.json"))


@pytest.mark.parametrize("option", ["--data=mbpp=mine.jsonl", "--mbpp-data=mine.jsonl"])
def test_the_option_of_one_dataset_means_the_same(words: Any, option: str) -> None:
    words.file("test_bench.py", READS_A_FILE.replace("word/plain", "mbpp/plain"))
    words.file("mine.jsonl", "right one\n")
    words.file("pytest.ini", "[pytest]\nckpt_mbpp_data = other.jsonl\n")
    result = words.run(option)
    assert "mbpp: mine.jsonl mine.jsonl" in result.outlines
    assert "right one" in words.asked


def test_an_unreadable_file_of_a_shipped_dataset_is_named(standard: Any) -> None:
    standard.file("lambada.tsv", "")
    standard.file("test_lambada.py", "from ckptbench.benchmarks.test_lambada import test_lambada\n")
    result = standard.run("--data=lambada=lambda.tsv", "--collect-only")
    assert "there is no file lambda.tsv (did you mean 'lambada.tsv'?)" in result.stderr.str()


def test_a_file_without_samples_is_named(words: Any) -> None:
    words.file("none.txt", "")
    assert "none.txt: the dataset has no samples" in refused(words.run("--data=word=none.txt"))
