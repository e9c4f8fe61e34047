"""Exit status: 1 for a regression, an incomplete run or another test's failure; misses are none.

What is compared with what is in test_what_is_compared.py.
"""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

TEXTS = [f"right {i:02}" for i in range(40)]


@pytest.fixture
def compared(project: Any) -> Any:
    """Forty samples answered right, and a baseline that says so."""
    project.write(TEXTS)
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    return project


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_run_that_is_refused_after_its_plan_leaves_no_folder(standard: Any, workers: str) -> None:
    refused = standard.run_apart("--run-id=new", "--gate-on=word@9", workers)
    assert refused.ret == 4
    assert not (standard.path / "results/new").exists()
    assert standard.run_apart("--run-id=old").ret == 0
    assert standard.run_apart("--run-id=old", "--gate-on=word@9", workers).ret == 4
    assert standard.summary["exit_status"] == 0


def test_misses_alone_exit_0(project: Any) -> None:
    project.write(["wrong 00", "wrong 01"])
    result = project.run()
    assert result.ret == 0
    assert project.summary["exit_status"] == 0


def test_a_failing_hand_written_test_exits_1(standard: Any) -> None:
    standard.file("test_hand.py", "def test_by_hand():\n    assert 1 == 2\n")
    result = standard.run()
    assert result.ret == 1
    assert standard.summary["exit_status"] == 1
    assert standard.summary["complete"]
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*exit 1, because other tests failed*"])


def test_a_hand_written_test_that_fails_in_setup_exits_1(standard: Any) -> None:
    standard.file(
        "test_hand.py",
        "import pytest\n\n@pytest.fixture\ndef broken():\n    1 / 0\n\n"
        "def test_by_hand(broken):\n    pass\n",
    )
    assert standard.run().ret == 1


def test_a_module_that_cannot_be_collected_exits_2_and_asks_nothing(standard: Any) -> None:
    standard.file("test_hand.py", "import no_such_module\n")
    result = standard.run()
    assert result.ret == 2
    assert standard.asked == []


def test_collection_errors_that_are_passed_over_still_exit_1(standard: Any) -> None:
    standard.file("test_hand.py", "import no_such_module\n")
    result = standard.run("--continue-on-collection-errors")
    assert result.ret == 1
    assert standard.coverage["scored"] == 4


def test_nothing_selected_keeps_pytests_own_exit_status(standard: Any) -> None:
    assert standard.run("-k", "nothing_like_this").ret == 5


def test_updating_the_baseline_writes_it_and_the_next_run_is_identical(compared: Any) -> None:
    baseline = json.loads((compared.path / "base.json").read_text())
    assert baseline["format"] == "ckptbench.baseline/2"
    assert len(baseline["benchmarks"]["word/plain"]["outcomes"]) == 40
    result = compared.run("--baseline=base.json")
    assert result.ret == 0
    assert compared.verdicts == {"word@1": "identical", "word@5": "identical"}
    result.stdout.fnmatch_lines(["identical: 2 metrics compared with base.json, *: exit 0"])


def test_a_regression_exits_1_and_lists_the_lost_samples(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=base.json", "-v")
    assert result.ret == 1
    assert compared.verdicts["word@1"] == "regressed"
    assert compared.scores["word@1"] == 0.5
    assert [flip["change"] for flip in compared.result["flips"]] == ["lost"] * 20
    result.stdout.fnmatch_lines(
        ["*20 lost*", "*lost  pytest 'test_bench.py::test_word?s-00?'*", "*regressed: *exit 1*"]
    )


def test_the_first_lost_samples_are_shown_with_both_answers(
    compared: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    step = tmp_path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    for baseline in ("base.json", "results/old"):
        with compared.spoiled(*TEXTS[:20]):
            result = compared.run(f"--baseline={baseline}")
        place = result.outlines.index("samples that the baseline got right, 3 of 20:")
        questions = result.outlines[place + 1 : place + 7 : 2]
        answers = result.outlines[place + 2 : place + 7 : 2]
        assert set(questions) < {f"  s-{i:02}: {text}" for i, text in enumerate(TEXTS[:20])}
        said = "1. x 90.48% 2. y 13.53%"
        assert answers == [f"    said {said}; baseline said {said}"] * 3
        source = "base.answers.jsonl.gz" if baseline == "base.json" else baseline
        read_from = f"the baseline's answers are read from {source}"
        assert result.outlines[place + 7] == f"  {read_from}"
        assert result.outlines[place + 8].startswith("regressed: ")
        written = step.read_text(encoding="utf-8")
        assert written.count(f"| {said} | {said} |") == 10
        assert read_from in written
        step.unlink()


def test_the_baselines_answers_are_kept_beside_it_for_when_its_run_is_gone(compared: Any) -> None:
    kept = compared.path / "base.answers.jsonl.gz"
    shutil.rmtree(compared.path / "results/old")
    shown = r"    said 1. x * 2. y *"
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=base.json", "--report=html,md")
        result.stdout.fnmatch_lines(
            [f"{shown}; baseline said 1. x *", "*are read from base.answers.jsonl.gz"]
        )
        (folder,) = (compared.path / "results").iterdir()
        for name in ("report.html", "report.md"):
            assert "aseline's answers are read from base.answers.jsonl.gz" in (
                html.unescape((folder / name).read_text(encoding="utf-8"))
            )
        # Of another baseline, damaged, and gone: a note, and never an error.
        compared.run("--baseline=other.json", "--update-baseline", "--run-id=other")
        shutil.rmtree(compared.path / "results/other")
        whole = kept.read_bytes()
        for content, why in (
            (
                (compared.path / "other.answers.jsonl.gz").read_bytes(),
                "holds the answers of another baseline*",
            ),
            (whole[: len(whole) // 2], "cannot be read: *"),
            (b"", "cannot be read: *"),
        ):
            kept.write_bytes(content)
            result = compared.run("--baseline=base.json")
            assert result.ret == 1
            result.stdout.fnmatch_lines(
                [shown, f"  baseline answers not available: base.answers.jsonl.gz {why}"]
            )
            assert "baseline said" not in result.stdout.str()
        kept.unlink()
        result = compared.run("--baseline=base.json")
        assert result.ret == 1
        absent = "base.answers.jsonl.gz does not exist, and */results has no run of that checkpoint"
        result.stdout.fnmatch_lines([f"  baseline answers not available: {absent}"])


def test_writing_the_baseline_says_where_its_answers_are(project: Any) -> None:
    project.write(TEXTS)
    result = project.run("--baseline=base.json", "--update-baseline")
    result.stdout.fnmatch_lines(["note: * are kept in base.answers.jsonl.gz"])
    first = (project.path / "base.answers.jsonl.gz").read_bytes()
    project.run("--baseline=base.json", "--update-baseline")
    assert (project.path / "base.answers.jsonl.gz").read_bytes() == first
    (project.path / "base.answers.jsonl.gz").unlink()
    (project.path / "base.answers.jsonl.gz").mkdir()
    result = project.run("--baseline=base.json", "--update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: the baseline's answers are not kept beside it: *"])


def test_a_listed_flip_can_be_pasted(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=base.json", "-v")
        line = next(line for line in result.outlines if line.startswith("    lost  "))
        nodeid = line.partition("'")[2].partition("'")[0]
        again = compared.run("-v", nodeid)
    assert list(compared.ran(again).values()) == ["MISSED"]


def test_a_rise_is_no_failure_and_a_large_one_is_remarked(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:20]):
        compared.run("--baseline=low.json", "--update-baseline")
    result = compared.run("--baseline=low.json")
    assert result.ret == 0
    assert compared.verdicts["word@1"] == "improved"
    result.stdout.fnmatch_lines(
        [
            "*word@1: unusually large: read some answers*",
            "improved: word@1 rose by 50.00 pp (p better, Holm < 0.0001), unusually large: *",
        ]
    )
    assert {flip["change"] for flip in compared.result["flips"]} == {"won"}


def test_the_gate_can_be_off(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=base.json", "--gate=off")
    assert result.ret == 0
    assert compared.verdicts["word@1"] == "regressed"


def test_the_gate_off_does_not_silence_errors(project: Any) -> None:
    project.write(["right 00", "failed 1"])
    assert project.run("--gate=off").ret == 1


def test_a_small_drop_is_inconclusive_and_fails_a_strict_gate_only(compared: Any) -> None:
    with compared.spoiled(TEXTS[0]):
        assert compared.run("--baseline=base.json").ret == 0
        assert compared.verdicts["word@1"] == "inconclusive"
        result = compared.run("--baseline=base.json", "--gate=strict")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*exit 1 (--gate=strict)*"])


@pytest.mark.parametrize(
    ("tolerance", "word"),
    [
        ("word@1=60,word@5=60", "unchanged"),
        ("60", "unchanged"),
        ("word/word@1=60", "unchanged"),
        ("word@1=20", "regressed"),
        ("word/word@1=20,word@1=60", "regressed"),
    ],
)
def test_the_tolerance_is_the_drop_that_is_allowed(
    compared: Any, tolerance: str, word: str
) -> None:
    with compared.spoiled(*TEXTS[:20]):
        compared.run("--baseline=base.json", f"--tolerance={tolerance}", "--must-see=100")
    assert compared.verdicts["word@1"] == word


def test_alpha_is_the_evidence_that_is_asked_for(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:6]):
        compared.run("--baseline=base.json", "--alpha=0.05")
        assert compared.verdicts["word@1"] == "regressed"
        compared.run("--baseline=base.json", "--alpha=0.000001")
        assert compared.verdicts["word@1"] == "inconclusive"


def test_bare_numbers_with_n_are_compared_unpaired(compared: Any) -> None:
    compared.file("bare.json", '{"word@1": 1.0, "n": 40}')
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=bare.json")
    assert result.ret == 1
    assert compared.verdicts == {"word@1": "regressed"}
    result.stdout.fnmatch_lines(["*unpaired comparison*(its n: 40)*"])


def test_bare_numbers_without_n_are_a_point_comparison(compared: Any) -> None:
    compared.file("bare.json", '{"word@1": 1.0, "word@5": 1.0}')
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=bare.json")
    assert result.ret == 0
    assert compared.verdicts["word@1"] == "inconclusive"
    result.stdout.fnmatch_lines(["*point comparison, not tested*"])


def test_an_earlier_runs_folder_is_a_baseline(compared: Any) -> None:
    result = compared.run("--baseline=results/old")
    assert result.ret == 0
    assert compared.verdicts == {"word@1": "identical", "word@5": "identical"}


def test_the_last_and_the_best_run_are_baselines_by_name(project: Any) -> None:
    project.write(TEXTS)
    assert project.run("--baseline=last").ret == 4
    assert project.run("--run-id=k", "--k=word=1").ret == 0  # all right, but of one metric only
    for run_id, spoiled in (("a", TEXTS[:9]), ("b", TEXTS[:2]), ("c", TEXTS[:20])):
        with project.spoiled(*spoiled):
            assert project.run(f"--run-id={run_id}").ret == 0
    project.run("--run-id=d", "--limit=5")
    project.run("--run-id=cut", "--maxfail=1", "test_hand.py")
    last = project.run("--run-id=e", "--baseline=last")
    assert project.latest.checkpoint["baseline"] == "results/d"
    assert last.ret == 0
    shutil.rmtree(project.path / "results/d")
    shutil.rmtree(project.path / "results/e")
    with project.spoiled(*TEXTS[:20]):
        assert project.run("--run-id=e", "--baseline=best").ret == 1
    assert project.latest.checkpoint["baseline"] == "results/b"
    (baseline,) = (project.path / "results/c").glob("*_baseline.json")
    shutil.copy(baseline, project.path / "best")
    with project.spoiled(*TEXTS[:20]):
        assert project.run("--run-id=e", "--baseline=best").ret == 0
    assert project.latest.checkpoint["baseline"] == "best"


def test_the_result_is_shown_whatever_becomes_of_the_lost_samples_texts(
    compared: Any,
) -> None:
    compared.file(
        "conftest.py",
        (compared.path / "conftest.py").read_text() + "\n\ndef pytest_sessionstart():\n"
        "    import ckptbench.reports.read_lost_samples as module\n"
        "    module.lost_samples = lambda *_: {}['text']\n",
    )
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run("--baseline=base.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*word@1*regressed*", "regressed: *exit 1"])


def test_an_incomplete_run_does_not_become_the_baseline(compared: Any) -> None:
    before = (compared.path / "base.json").read_text()
    compared.write([*TEXTS, "failed 1"])
    result = compared.run("--baseline=base.json", "--update-baseline")
    assert result.ret == 1
    assert (compared.path / "base.json").read_text() == before
    result.stdout.fnmatch_lines(["*base.json was not written: the run is incomplete*"])


def test_updating_accepts_a_regression(compared: Any) -> None:
    with compared.spoiled(*TEXTS[:20]):
        assert compared.run("--baseline=base.json", "--update-baseline").ret == 0
        assert compared.run("--baseline=base.json").ret == 0
        assert compared.verdicts["word@1"] == "identical"


def test_updating_may_change_the_protocol(compared: Any) -> None:
    compared.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(OTHER,)")
    assert compared.run("--baseline=base.json", "--update-baseline").ret == 0
    assert "word/other" in json.loads((compared.path / "base.json").read_text())["benchmarks"]
    assert compared.run("--baseline=base.json").ret == 0


def test_updating_may_replace_a_file_that_cannot_be_read(compared: Any) -> None:
    compared.file("base.json", '{"format": "ckptbench.baseline/2"')
    result = compared.run("--baseline=base.json", "--update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*nothing was compared with the old baseline*is not JSON*"])
    assert compared.run("--baseline=base.json").ret == 0


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "workers"])
def test_another_protocols_baseline_is_incomparable(
    compared: Any, workers: tuple[str, ...]
) -> None:
    pytest.importorskip("xdist")
    compared.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(OTHER,)")
    run = compared.run_apart if workers else compared.run
    result = run("--baseline=base.json", *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["incomparable: protocol word/plain in the baseline, word/other here;*: exit 1"]
    )


def test_workers_come_to_the_same_verdict(compared: Any) -> None:
    pytest.importorskip("xdist")
    with compared.spoiled(*TEXTS[:20]):
        result = compared.run_apart("--baseline=base.json", "-n1")
    assert result.ret == 1
    assert compared.verdicts["word@1"] == "regressed"


def test_two_checkpoints_are_no_baseline(project: Any) -> None:
    project.write(
        conftest="\n@pytest.fixture(scope='session')\ndef checkpoint(request):\n"
        "    return request.param\n\n\n@pytest.fixture(scope='session')\n"
        "def engine(checkpoint):\n    return Scripted()\n"
    )
    result = project.run("--checkpoint=a", "--checkpoint=b", "--baseline=x", "--update-baseline")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --update-baseline: a baseline holds one checkpoint, *"])
    assert project.asked == []
