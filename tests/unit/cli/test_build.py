"""`ckptbench build real-k`: a corpus in, a sample file out, one clear message when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptbench import __version__
from ckptbench.cli import main
from ckptbench.fixtures.datasets import real_k

APPLE = "사과는 달다. 마당의 사과가 빨갛게 익었다."
RIVER = "강물은 바다로 흐른다. 바다는 강물을 받는다."
HEADLINES = "코스피 소폭 상승 마감\n태풍 북상에 항공편 줄줄이 결항\n"
DATA = os.environ.get("CKPTBENCH_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CKPTBENCH_DATA does not name a folder of data")


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def build(*arguments: str) -> int:
    return main(["build", "real-k", *arguments, "-o", "out.jsonl"])


def corpus(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_file_says_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert build("--text", corpus("a.txt", f"{APPLE}\n{RIVER}\n"), "--licence", "CC0-1.0") == 0
    read = real_k.load("out.jsonl")
    assert [sample["answer"] for sample in read] == ["사과", "바다", "강물"]
    assert (read.header.name, read.header.source, read.header.licence) == (
        "out",
        "a.txt",
        "CC0-1.0",
    )
    assert read.header.builder.startswith(f"ckptbench {__version__}, kiwipiepy ")
    captured = capsys.readouterr()
    assert "2 texts read: 2 used" in captured.err
    assert "3 samples" in captured.err
    assert captured.out == ""


def test_building_twice_gives_the_same_bytes() -> None:
    build("--text", corpus("a.txt", f"{APPLE}\n{RIVER}\n"))
    first = Path("out.jsonl").read_bytes()
    build("--text", "a.txt")
    assert Path("out.jsonl").read_bytes() == first


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--jsonl", json.dumps({"id": 1, "body": APPLE}) + "\n"),
        ("--jsonl", json.dumps([{"id": 1, "body": APPLE}], indent=2)),
        ("--tsv", f"id\tbody\r\n1\t{APPLE}\r\n"),
        ("--csv", f'id,body\n1,"{APPLE}"\n'),
    ],
)
def test_the_text_is_taken_from_the_named_column(option: str, text: str) -> None:
    assert build(option, corpus("a", text), "--column", "body") == 0
    assert [sample["text"] for sample in real_k.load("out.jsonl")] == [APPLE]


def test_a_folder_is_read_as_a_dataset_and_named_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    corpus("rows/validation.jsonl", json.dumps({"text": APPLE}) + "\n")
    assert build("--hub", str(tmp_path / "rows"), "--split", "validation") == 0
    assert real_k.load("out.jsonl").header.source == "rows"


def test_options_name_limit_and_describe() -> None:
    texts = corpus("a.txt", f"{RIVER}\n{APPLE}\n")
    options = ["--name", "sea", "--source", "own", "--limit-texts", "1", "--per-text", "1"]
    assert build("--text", texts, *options) == 0
    read = real_k.load("out.jsonl")
    assert [sample.id for sample in read] == ["sea-00001-1"]
    assert read.header.source == "own"


def test_headlines_are_an_error_that_leaves_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert build("--text", corpus("a.txt", HEADLINES)) == 2
    error = capsys.readouterr().err
    assert "gives no samples. 2 texts read: 0 used" in error
    assert "headlines" in error
    assert not Path("out.jsonl").exists()


def test_the_headlines_of_klue_give_nothing_and_it_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A local folder named `klue`, whose README declares the subset, stands for the hub's."""
    Path("klue").mkdir()
    titles = "".join(json.dumps({"title": line}) + "\n" for line in HEADLINES.splitlines())
    corpus("klue/ynat.jsonl", titles)
    corpus("klue/README.md", "---\nconfigs:\n- config_name: ynat\n  data_files: ynat.jsonl\n---\n")
    assert build("--hub", "klue", "--config", "ynat") == 2
    error = capsys.readouterr().err
    assert "reading klue/ynat@train" in error
    assert "gives no samples. 2 texts read: 0 used" in error
    assert not Path("out.jsonl").exists()


@pytest.mark.slow
def test_a_few_nouns_among_headlines_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"제{n}호 태풍 북상\n" for n in range(60))
    assert build("--text", corpus("a.txt", lines + APPLE)) == 0
    assert "note: hardly any text" in capsys.readouterr().err


def test_an_error_leaves_the_earlier_file(capsys: pytest.CaptureFixture[str]) -> None:
    build("--text", corpus("a.txt", APPLE))
    before = Path("out.jsonl").read_bytes()
    assert build("--jsonl", corpus("a.jsonl", '{"text": "강"}\n{"text": 3}\n')) == 2
    assert Path("out.jsonl").read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["a.jsonl", "a.txt", "out.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tsv", "a.tsv"], "a.tsv:2: there is no field 'text' (did you mean 'Text'?)"),
        (["--text", "none.txt"], "none.txt: cannot be read: No such file or directory"),
        (["--text", "a.tsv", "--column", "Text"], "--column goes with"),
        (["--tsv", "a.tsv", "--split", "train"], "--split goes with --hub only"),
        (["--tsv", "a.tsv", "--name", "사과"], "--name: '사과' holds other characters"),
        (["--hub", "klue"], "klue: has several subsets"),
    ],
)
def test_what_cannot_be_used_is_one_message(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    corpus("a.tsv", f"Text\n{APPLE}\n")
    assert build(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ckptbench: error: {message}")
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["build"],
        ["build", "real-k", "-o", "x"],
        ["build", "real-k", "--text", "a", "--tsv", "b", "-o", "x"],
        ["build", "real-k", "--text", "a"],
        ["build", "real-k", "--text", "a", "-o", "x", "--per-text", "0"],
        ["build", "real-k", "--text", "a", "-o", "x", "--limit-texts", "many"],
    ],
)
def test_a_wrong_command_line_exits_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: ckptbench" in capsys.readouterr().err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["build", "real-k", "--help"])
    assert caught.value.code == 0
    assert "ckptbench build real-k --tsv BoolQ_test.tsv --column Text" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"ckptbench {__version__}\n"


def test_the_command_starts_without_heavy_packages() -> None:
    code = (
        "import sys, ckptbench.cli\n"
        "heavy = {'torch', 'transformers', 'datasets', 'kiwipiepy', 'numpy', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@needs_data
def test_boolq_gives_more_than_1500_samples(capsys: pytest.CaptureFixture[str]) -> None:
    table = Path(str(DATA), "kobest", "BoolQ_test.tsv")
    assert build("--tsv", str(table), "--column", "Text") == 0
    assert len(real_k.load("out.jsonl")) > 1500
    assert "1,404 texts read" in capsys.readouterr().err


@needs_data
def test_single_sentences_of_klue_give_little(capsys: pytest.CaptureFixture[str]) -> None:
    premises = Path(str(DATA), "klue", "klue-nli-v1.1_dev.json")
    assert build("--jsonl", str(premises), "--column", "premise") == 0
    assert "2,000 duplicate" in capsys.readouterr().err
    assert 0 < len(real_k.load("out.jsonl")) < 1000


def test_the_corpus_and_other_files_are_not_overwritten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = f"{APPLE}\n{RIVER}\n"
    Path("out.jsonl").symlink_to(corpus("a.txt", text))
    assert build("--text", "a.txt", "--force") == 2
    assert "out.jsonl: is read by this command" in capsys.readouterr().err
    assert Path("a.txt").read_text(encoding="utf-8") == text
    Path("out.jsonl").unlink()
    corpus("out.jsonl", "notes\n")
    assert build("--text", "a.txt") == 2
    assert "--force" in capsys.readouterr().err
    assert Path("out.jsonl").read_text() == "notes\n"
    assert build("--text", "a.txt", "--force") == 0
