"""CodeContests' problems: which tests are taken, how they are drawn, and flaws named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets.code import codecontests
from ckptbench.fixtures.datasets.code.problems import limited
from ckptbench.fixtures.datasets.code.protocols import canonical_program, task_of
from ckptbench.fixtures.sandbox.tasks import StdioTask


def pairs(*numbers: int) -> dict[str, list[str]]:
    return {"input": [f"{n}\n" for n in numbers], "output": [f"{n + 1}\n" for n in numbers]}


PROBLEM = {
    "name": "1_A. Next number",
    "id": "1_a_next_number",
    "description": "Print the next number.\n",
    "tests": pairs(*range(25)),
    "accepted_python3_solution": "print(int(input()) + 1)\n",
}
HUB = {
    "name": "1_A. Next number",
    "description": "Print the next number.",
    "public_tests": pairs(1, 2),
    "private_tests": pairs(3),
    "generated_tests": pairs(*range(4, 20)),
    "time_limit": {"seconds": 2, "nanos": 500000000},
    "solutions": {"language": [2, 3, 3], "solution": ["int main()", "print(1)", "print(2)"]},
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{**PROBLEM, "id": f"problem_{n}"} for n in range(20)]
    return written(tmp_path / "contests.jsonl", *rows)


def test_ten_of_all_tests_are_drawn_in_their_order(file: Path) -> None:
    sample = codecontests.load(file)[0]
    assert sample.id == "CodeContests/problem_0"
    inputs = [int(given) for given, _ in sample["tests"]]
    assert len(inputs) == 10
    assert inputs == sorted(set(inputs))
    assert sample["tests_available"] == 25


def test_the_draw_depends_on_the_seed_and_the_problem(file: Path) -> None:
    first, again = codecontests.load(file), codecontests.load(file)
    other = codecontests.load(file, seed=1)
    assert first.samples == again.samples
    assert first[0]["tests"] != other[0]["tests"]
    assert len({json.dumps(sample["tests"]) for sample in first}) > 1
    assert first.header.source == "contests.jsonl, 10 tests, seed 0"


def test_all_tests(file: Path) -> None:
    loaded = codecontests.load(file, tests="all")
    assert len(loaded[0]["tests"]) == 25
    assert loaded.header.source == "contests.jsonl, all tests"


def test_rows_of_the_hub_hold_tests_in_three_parts(tmp_path: Path) -> None:
    path = written(tmp_path / "contests.jsonl", HUB)
    (public,) = codecontests.load(path, tests="public")
    assert public.id == "CodeContests/1_A._Next_number"
    assert public["tests"] == [["1\n", "2\n"], ["2\n", "3\n"]]
    (everything,) = codecontests.load(path, tests="all")
    assert len(everything["tests"]) == everything["tests_available"] == 19
    assert public["time_limit_seconds"] == 2.5
    assert public["solution"] == "print(1)"


def test_a_dataset_folder_is_read_like_the_hub(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "code_contests"
    folder.mkdir()
    written(folder / "test.jsonl", HUB)
    loaded = codecontests.load(f"hub:{folder}", tests="all")
    assert loaded.samples == codecontests.load(folder / "test.jsonl", tests="all").samples


def test_a_problem_is_tested_by_what_a_program_prints(file: Path) -> None:
    sample = codecontests.load(file)[0]
    task = task_of(sample, canonical_program(sample), compare="strip")
    assert isinstance(task, StdioTask)
    assert task.program == "print(int(input()) + 1)\n"
    assert [list(case) for case in task.cases] == sample["tests"]
    assert task.compare == "strip"


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"tests": []}, ", field 'tests'", 'expected {"input"'),
        ({"tests": {"input": ["1"], "output": []}}, ", field 'tests'", "1 inputs but 0 outputs"),
        (
            {"tests": {"input": [1], "output": ["2"]}},
            ", field 'tests', 'input'",
            "expected a list of strings",
        ),
        ({"tests": pairs()}, "", "holds no tests"),
        ({"description": None}, ", field 'description'", "expected a string"),
    ],
)
def test_a_flaw_is_named_with_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], where: str, what: str
) -> None:
    path = written(tmp_path / "a.jsonl", PROBLEM, {**PROBLEM, "id": "other", **changes})
    with pytest.raises(CkptbenchError) as caught:
        codecontests.load(path)
    assert what in caught.value.what
    assert caught.value.where == f"{path}:2{where}"


def test_public_tests_must_be_marked_as_such(file: Path) -> None:
    with pytest.raises(CkptbenchError, match="is missing") as caught:
        codecontests.load(file, tests="public")
    assert caught.value.where == f"{file}:1, field 'public_tests'"


def test_a_mistyped_kind_of_tests_gets_the_nearest(file: Path) -> None:
    with pytest.raises(CkptbenchError, match="did you mean 'public'"):
        codecontests.load(file, tests="pubic")
    with pytest.raises(CkptbenchError, match="no 'sample:0' tests"):
        codecontests.load(file, tests="sample:0")


def test_a_sample_may_be_of_another_size(file: Path) -> None:
    loaded = codecontests.load(file, tests="sample:4")
    assert {len(sample["tests"]) for sample in loaded} == {4}
    assert loaded.header.source == "contests.jsonl, 4 tests, seed 0"
    whole = codecontests.load(file, tests="sample:99")
    assert [len(s["tests"]) for s in whole] == [s["tests_available"] for s in whole]


def test_a_limit_draws_problems_and_names_the_others(file: Path) -> None:
    problems = codecontests.load(file)
    part = limited(problems, 5, seed=3)
    kept = [sample.id for sample in part]
    assert len(kept) == 5
    assert len(part.left_out) == 15
    ids = [sample.id for sample in problems]
    assert sorted([*kept, *part.left_out], key=ids.index) == ids
    assert kept == sorted(kept, key=ids.index)
    assert kept != ids[:5]
    assert part.header.source.endswith("; 5 of 20 problems, seed 3")
    assert [s.id for s in limited(problems, 5, seed=3)] == kept
    assert [s.id for s in limited(problems, 5, seed=4)] != kept


def test_a_limit_may_be_a_share(file: Path) -> None:
    problems = codecontests.load(file)
    quarter = limited(problems, 0.25, seed=3)
    assert len(quarter) == 5
    assert quarter == limited(problems, 5, seed=3)


def test_the_reader_is_told_who_was_left_out_and_how_much_is_tested(file: Path) -> None:
    part = limited(codecontests.load(file, tests="sample:4"), 18, seed=3)
    left_out, tested = part.notes
    first, second = part.left_out
    assert left_out == f"--limit drew 18 of 20 problems by the seed; left out: {first}, {second}"
    assert tested == "4 tests a problem, of 25 that it has"
    (tested,) = limited(codecontests.load(file, tests="sample:1"), None).notes
    assert tested == "1 test a problem, of 25 that it has"


def test_a_smaller_limit_keeps_a_part_of_a_larger_ones(file: Path) -> None:
    problems = codecontests.load(file)
    few, more = (limited(problems, limit, seed=3) for limit in (4, 9))
    assert {sample.id for sample in few} < {sample.id for sample in more}


@pytest.mark.parametrize("limit", [None, 20, 21])
def test_a_limit_that_leaves_none_out_keeps_the_dataset(file: Path, limit: int | None) -> None:
    problems = codecontests.load(file)
    part = limited(problems, limit)
    assert (part.header, part.samples) == (problems.header, problems.samples)
    assert part.left_out == ()


def test_a_limit_below_one_is_refused(file: Path) -> None:
    with pytest.raises(CkptbenchError, match="leaves no problem"):
        limited(codecontests.load(file), 0)


def test_the_published_subset_holds_300_problems() -> None:
    data = os.environ.get("CKPTBENCH_DATA")
    if not data:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    path = Path(data) / "codecontests/codecontests_train_graph_subset.jsonl"
    loaded = codecontests.load(path)
    assert len(loaded) == 300
    assert all(canonical_program(sample) for sample in loaded)
    assert max(len(sample["tests"]) for sample in loaded) == 10
