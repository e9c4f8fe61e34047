"""What the user can mend is told in one message: the thing, the place, the remedy; exit 4."""

from __future__ import annotations

from typing import Any

import pytest

OPTIONS = [
    ("--protocol=wrod=plain", ["--protocol", "no benchmark named 'wrod'", "mean 'word'"]),
    ("--protocol=word=plian", ["--protocol", "no protocol 'word/plian'", "mean 'word/plain'"]),
    ("--protocol=word", ["--protocol", "expected BENCH=PROTOCOL", "'word'"]),
    ("--k=wrod=1", ["--k", "no benchmark named 'wrod'", "mean 'word'"]),
    ("--k=word=0", ["--k", "expected BENCH=K", "'word=0'"]),
    ("--gate=regres", ["--gate", "one of regress, strict, off", "'regres'"]),
    ("--tolerance=word@1=lots", ["--tolerance", "METRIC=POINTS", "'word@1=lots'"]),
    ("--tolerance=word@1=200", ["--tolerance", "METRIC=POINTS", "'word@1=200'"]),
    ("--limit=0", ["--limit", "a number of samples", "'0'"]),
    ("--limit=2.5", ["--limit", "a number of samples", "'2.5'"]),
    ("--alpha=5", ["--alpha", "a number between 0 and 1", "'5'"]),
    ("--seed=-1", ["--seed", "a whole number of at least 0", "'-1'"]),
    ("--seq-len=long", ["--seq-len", "'auto' or a whole number", "'long'"]),
    ("--device=gpu", ["--device", "auto, cpu, cuda or cuda:N", "'gpu'"]),
    *(
        (f"--run-id={name}", ["--run-id", "a folder name without slashes, control", repr(name)])
        for name in ("a/b", "a\\b", ".a", "..", "a\nb", "a\tb", "a\x1b[31mb", "a\u2028b")
    ),
    ("--update-baseline", ["--update-baseline", "add --baseline=FILE"]),
    ("--baseline=nowhere.json", ["nowhere.json", "there is no such baseline", "--baseline"]),
]


def said(result: pytest.RunResult) -> str:
    return f"{result.stdout.str()}\n{result.stderr.str()}"


@pytest.mark.parametrize(("option", "words"), OPTIONS, ids=[ascii(option) for option, _ in OPTIONS])
def test_an_option_that_cannot_be_followed(standard: Any, option: str, words: list[str]) -> None:
    result = standard.run(option)
    assert result.ret == 4
    for word in words:
        assert word in said(result)
    assert "Traceback" not in said(result)
    assert standard.asked == []
    assert not list(standard.path.glob("results/*/summary.json"))


def test_a_misspelled_option_gets_the_nearest_of_ours(standard: Any) -> None:
    result = standard.run("--checkpiont=a", "--durations=3")
    assert result.ret == 4
    assert "--checkpiont (did you mean '--checkpoint'?)" in said(result)
    assert "--durations (did" not in said(result)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ckpt_gate = regres", ["ckpt_gate", "pytest.ini", "one of regress, strict, off"]),
        ("ckpt_limit = none", ["ckpt_limit", "pytest.ini", "a number of samples"]),
        ("ckpt_update_baseline = maybe", ["ckpt_update_baseline", "expected true or false"]),
        ("ckpt_protocol = word=plian", ["no protocol 'word/plian'", "mean 'word/plain'"]),
    ],
)
def test_a_setting_that_cannot_be_followed(standard: Any, line: str, words: list[str]) -> None:
    standard.file("pytest.ini", f"[pytest]\n{line}\n")
    result = standard.run()
    assert result.ret == 4
    for word in words:
        assert word in said(result)
    assert standard.asked == []


def test_a_setting_may_name_a_benchmark_that_this_session_does_not_run(standard: Any) -> None:
    standard.file("pytest.ini", "[pytest]\nckpt_k = real=1,5,10\n")
    assert standard.run().ret == 0
    assert standard.run("test_hand.py").ret == 0


def test_k_for_a_score_without_k(standard: Any) -> None:
    standard.change("test_bench.py", "score=top_k(1, 5)", "score=mean()")
    standard.change("test_bench.py", "samples, top_k", "mean, samples")
    standard.change("test_bench.py", "(response, k):", "(response, k=1):")
    standard.change("test_bench.py", "(response, k=1):", "(response):")
    standard.change("test_bench.py", "within(k)", "within(1)")
    result = standard.run("--k=word=3")
    assert result.ret == 4
    assert "--k: the score of word takes no k" in said(result)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", ["base.json:1:", "is not JSON", "--update-baseline"]),
        ("[]", ["base.json", "is a JSON list, not an object"]),
        ('{"word@1": 67.78}', ["base.json", "looks like a percentage"]),
        ('{"word@1": "high"}', ["base.json", "not a number"]),
        ('{"format": "ckptbench.baseline/9"}', ["base.json", "ckptbench.baseline/9"]),
        (
            '{"format": "ckptbench.baseline/1", "checkpont": "x"}',
            ["base.json", "unknown key 'checkpont'", "mean 'checkpoint'"],
        ),
    ],
)
def test_a_baseline_that_cannot_be_read(standard: Any, content: str, words: list[str]) -> None:
    standard.file("base.json", content)
    result = standard.run("--baseline=base.json")
    assert result.ret == 4
    for word in words:
        assert word in said(result)
    assert "Traceback" not in said(result)
    assert standard.asked == []


def test_a_folder_cannot_be_updated(standard: Any) -> None:
    (standard.path / "folder").mkdir()
    result = standard.run("--baseline=folder", "--update-baseline")
    assert result.ret == 4
    assert "folder: is a folder" in said(result)
    assert standard.asked == []


def test_a_file_that_is_no_baseline_is_not_replaced_by_one(standard: Any) -> None:
    standard.file("theirs.json", '{"results": {}}')
    result = standard.run("--baseline=theirs.json", "--update-baseline")
    assert result.ret == 4
    assert "theirs.json: exists already and is not a baseline" in said(result)
    assert (standard.path / "theirs.json").read_text() == '{"results": {}}'
    assert standard.asked == []


def test_a_folder_of_other_files_does_not_become_a_runs(standard: Any) -> None:
    standard.file("notes/summary.json", "mine")
    result = standard.run("--results-dir=.", "--run-id=notes")
    assert result.ret == 4
    assert "notes: holds files and no run of ckptbench" in said(result)
    assert [file.name for file in (standard.path / "notes").iterdir()] == ["summary.json"]


@pytest.mark.parametrize("option", ["--protocol=word=plian", "--results-dir=taken"])
def test_workers_refuse_with_the_same_message(standard: Any, option: str) -> None:
    pytest.importorskip("xdist")
    standard.file("taken", "a file")
    result = standard.run_apart("-n1", option)
    assert result.ret == 4
    text = said(result)
    expected = ["mean 'word/plain'", "cannot be written"]
    assert sum(words in text for words in expected) == 1
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    assert "crashed" not in text
    assert standard.asked == []


def test_a_results_folder_that_cannot_be_made(standard: Any) -> None:
    standard.file("taken", "a file")
    result = standard.run("--results-dir=taken")
    assert result.ret == 4
    text = said(result)
    assert "the run store cannot be written" in text
    assert "--results-dir" in text
    assert "Traceback" not in text
    assert standard.asked == []


def test_a_store_of_another_format_is_refused(standard: Any) -> None:
    import sqlite3

    standard.run("--run-id=old")
    with sqlite3.connect(standard.path / "results" / "old" / "store.sqlite") as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    db.close()
    result = standard.run("--run-id=old")
    assert result.ret == 4
    assert "has format 99" in said(result)
    assert "--run-id" in said(result)


def test_a_store_that_is_no_database_is_kept_beside_the_new_one(standard: Any) -> None:
    text = "this is no database, it is a text of some length"
    standard.file("results/odd/store.sqlite", text)
    result = standard.run("--run-id=odd")
    assert result.ret == 0
    assert "is not a database): it is damaged-1.sqlite now" in said(result)
    assert (standard.path / "results/odd/damaged-1.sqlite").read_text() == text
