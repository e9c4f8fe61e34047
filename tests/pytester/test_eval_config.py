"""`--eval-config` in a session: what runs, in what order, for how long, and who said so."""

from __future__ import annotations

import json
from typing import Any

import pytest

# A file that names what no benchmark here is called is looked up among lm-eval's tasks.
pytestmark = pytest.mark.usefixtures("one_lm_eval_index")

TWO = """
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

TEXTS = ...
ROWS = [Sample(f"s-{i:02}", {"text": text}) for i, text in enumerate(TEXTS)]
LETTERS = [Sample(f"l-{i:02}", {"text": f"right letter {i}"}) for i in range(4)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(ROWS, protocol=EvalProtocol("word/plain", ask), score=top_k(1, 5))
def test_word(response, k):
    "Words that are easy."
    assert response.within(k)


@samples(LETTERS, protocol=EvalProtocol("letter/plain", ask), score=top_k(1))
def test_letter(response, k):
    assert response.within(k)
"""
TEXTS = ("right aa", "wrong bb", "second c", "right dd")


@pytest.fixture
def two(project: Any) -> Any:
    """A project with the benchmarks `word` and `letter`."""
    return project.write(TEXTS, benchmark=TWO, by_hand="")


def configured(project: Any, **content: Any) -> str:
    """The option that names a file with this content."""
    project.file("eval.json", json.dumps(content))
    return "--eval-config=eval.json"


def results(project: Any) -> dict[str, dict[str, Any]]:
    (checkpoint,) = project.summary["checkpoints"]
    return {bench["benchmark"]: bench for bench in checkpoint["benchmarks"]}


# What runs


def test_what_the_file_does_not_name_is_not_asked(two: Any) -> None:
    two.run(configured(two, benchmarks=["letter"])).assert_outcomes(passed=4)
    assert set(results(two)) == {"letter"}
    assert len(two.asked) == 4


def test_only_enabled_benchmarks_run(two: Any) -> None:
    benchmarks = {
        "one": {"enabled": False, "tasks": ["word"]},
        "other": {"enabled": True, "tasks": ["letter"]},
    }
    two.run(configured(two, benchmarks=benchmarks)).assert_outcomes(passed=4)
    assert set(results(two)) == {"letter"}


@pytest.mark.parametrize(("limit", "asked"), [(1, 1), (0.5, 2), (None, 4), (99, 4)])
def test_a_limit_is_a_count_a_share_or_none(two: Any, limit: float | None, asked: int) -> None:
    two.run(configured(two, tasks={"letter": {"limit": limit}}))
    assert len(two.asked) == asked
    assert results(two)["letter"]["coverage"]["planned"] == asked


def test_priority_orders(two: Any) -> None:
    tasks = {"word": {"priority": 2}, "letter": {"priority": 1}}
    two.run(configured(two, tasks=tasks))
    assert [text.split()[-2] for text in two.asked[:4]] == ["letter"] * 4
    two.forget_asked()
    tasks = {"word": {"priority": 1}, "letter": {"priority": 2}}
    two.run(configured(two, tasks=tasks), "--no-resume")
    assert [text.split()[-2] for text in two.asked[-4:]] == ["letter"] * 4


def test_priority_orders_what_is_shuffled_within(two: Any) -> None:
    reverse = "\n\ndef pytest_collection_modifyitems(items):\n    items.reverse()\n"
    conftest = two.path / "conftest.py"
    conftest.write_text(conftest.read_text() + reverse)
    tasks = {"word": {"priority": 2}, "letter": {"priority": 1}}
    two.run(configured(two, tasks=tasks), "-v")
    assert [text[:12] for text in two.asked[:4]] == ["right letter"] * 4


def test_only_wanted_metrics_are_scored(two: Any) -> None:
    two.run(configured(two, tasks={"word": {"metrics": ["word@5"]}}))
    assert [score["metric"] for score in results(two)["word"]["scores"]] == ["word@5"]


@pytest.mark.slow
def test_the_result_file_goes_to_a_further_place(two: Any) -> None:
    two.run(configured(two, tasks={"letter": {"output_path": "out/letter.json"}}))
    content = json.loads((two.path / "out/letter.json").read_text())
    assert content["results"]["letter"]["letter@1,none"] == 1.0


def test_the_further_place_is_free_or_holds_an_earlier_result(two: Any) -> None:
    option = configured(two, tasks={"letter": {"output_path": "letter.json"}})
    assert two.run(option).ret == two.run(option).ret == 0
    two.file("letter.json", "mine")
    two.forget_asked()
    result = two.run(option, "--no-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*letter.json: exists already and is not a result*"])
    assert (two.path / "letter.json").read_text() == "mine"
    assert not two.asked


@pytest.mark.parametrize("place", ["/proc/x/y.json", "letter.txt/x/y.json", "/proc/x"])
def test_a_further_place_that_cannot_be_is_refused_before_anything_is_asked(
    two: Any, place: str
) -> None:
    two.file("letter.txt", "a file, and no folder")
    result = two.run(configured(two, tasks={"letter": {"output_path": place}}))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: output_path *: no result can be put there: *"])
    assert not two.asked


def test_batch_size_bounds_what_the_engine_gets_at_once(two: Any) -> None:
    two.run(configured(two, tasks={"letter": {"batch_size": 3}}))
    assert (two.path / "calls.log").read_text().split() == ["3", "1"]


def test_replicas_get_a_batch_each(two: Any) -> None:
    two.change("conftest.py", "    settings = {", "    replicas = 2\n    settings = {")
    two.run(configured(two, tasks={"letter": {"batch_size": 1}}))
    assert (two.path / "calls.log").read_text().split() == ["2", "2"]


# Who said so


def test_each_value_says_where_it_comes_from(two: Any) -> None:
    option = configured(two, tasks={"word": {"limit": 2, "timeout": 60}, "letter": {}})
    two.run(option, "--batch-size=2")
    place = f"{two.path}/eval.json: tasks.word"
    word, letter = results(two)["word"]["given"], results(two)["letter"]["given"]
    assert word["limit"] == {"value": 2, "source": place}
    assert word["batch_size"] == {"value": 2, "source": "command line"}
    assert word["timeout_s"] == {"value": 60, "source": place}
    assert set(letter) == {"batch_size"}
    given = two.summary["given"]
    assert given["eval_config"]["source"] == "command line"
    assert given["batch_size"] == {"value": 2, "source": "command line"}


def test_the_command_line_beats_the_file(two: Any) -> None:
    two.run(configured(two, tasks={"letter": {"limit": 3}}), "--limit=1")
    assert len(two.asked) == 1
    given = results(two)["letter"]["given"]["limit"]
    assert given == {"value": 1, "source": "command line"}


def test_the_file_beats_the_ini_file(two: Any) -> None:
    two.file("pytest.ini", "[pytest]\nckpt_limit = 1\n")
    two.run(configured(two, tasks={"letter": {"limit": None}, "word": {}}))
    assert results(two)["letter"]["coverage"]["planned"] == 4
    assert results(two)["word"]["coverage"]["planned"] == 1


# Timeouts


def test_a_timeout_keeps_what_was_measured_and_names_the_rest(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOW_S", "1")
    project.write(("slow aaaa", "right bbb", "right cc"), benchmark=TWO, by_hand="")
    option = configured(project, tasks={"word": {"timeout": 0.5}, "letter": {}})
    result = project.run(option)
    assert result.ret == 1
    word, letter = results(project)["word"], results(project)["letter"]
    assert (word["coverage"]["scored"], word["coverage"]["errors"]) == (1, 2)
    assert {error.partition("[")[2].partition("]")[0] for error in word["errors"]} == {
        "s-01",
        "s-02",
    }
    assert all("not asked: its timeout of 0.5 s is over" in error for error in word["errors"])
    assert all("eval.json: tasks.word" in error for error in word["errors"])
    assert letter["coverage"] == {**letter["coverage"], "scored": 4, "errors": 0}
    assert project.summary["complete"] is False
    # Asked again without one, only the rest is.
    project.forget_asked()
    again = configured(project, tasks={"word": {}, "letter": {}})
    assert project.run(again, f"--run-id={project.run_folders[-1].name}").ret == 0
    assert sorted(project.asked) == ["right bbb", "right cc"]


# Mistakes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"tasks": {"word": {"metrics": ["word@2"]}}},
            "*tasks.word.metrics: no metric 'word@2' (did you mean 'word@?'?)",
        ),
        ({"tasks": {"word": {"limt": 2}}}, "*tasks.word.limt: unknown key (did you mean 'limit'?)"),
    ],
)
def test_a_mistake_is_told_before_anything_is_asked(
    two: Any, content: dict[str, Any], message: str
) -> None:
    result = two.run(configured(two, **content))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    found = [*result.outlines, *result.errlines]
    assert any(_like(line, message) for line in found), "\n".join(found)
    assert two.asked == []


def test_a_task_that_does_not_exist_is_told_with_the_nearest(two: Any) -> None:
    result = two.run(configured(two, tasks={"word": {}, "lettr": {}}))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "*no task of lm-eval: tasks.lettr names 'lettr' (did you mean 'letter'?)"
    result.stderr.fnmatch_lines([said])
    assert two.asked == []


def _like(line: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(line, pattern.replace("[", "[[]") + "*")


# Looking before asking


def test_benchmarks_are_listed(two: Any) -> None:
    benchmarks = {
        "easy": {"enabled": True, "tasks": ["word"], "description": "words"},
        "letters": {"enabled": False, "tasks": ["letter"]},
    }
    option = configured(two, benchmarks=benchmarks, tasks={"word": {"limit": 3}})
    result = two.run(option, "--list-benchmarks")
    assert result.ret == 0
    result.stdout.re_match_lines(
        [
            r"name +enabled +tasks +samples +description$",
            r"easy +yes +word +3 +words$",
            r"letters +no +letter +-$",
        ],
        consecutive=True,
    )
    assert two.asked == []


def test_benchmarks_are_listed_without_a_file(two: Any) -> None:
    result = two.run("--list-benchmarks")
    result.stdout.re_match_lines_random(
        [r"word +yes +word +4 +Words that are easy\.$", r"letter +yes +letter +4$"]
    )


def test_a_dry_run_tells_what_would_be_asked_and_in_what_order(two: Any) -> None:
    tasks = {"word": {"priority": 2, "output_path": "out/w.json"}, "letter": {"priority": 1}}
    result = two.run(configured(two, tasks=tasks), "--dry-run", "--run-id=later")
    assert result.ret == 0
    result.stdout.re_match_lines(
        [
            r"checkpoint +protocol +samples +requests +tokens read +written at most$",
            r"\S+ +letter/plain +4 +4 +14 +0$",
            r"\S+ +word/plain +4 +4 +8 +0$",
            r"",
            r"8 requests, about 22 tokens read .*, 0 generated at most",
        ],
        consecutive=True,
    )
    result.stdout.fnmatch_lines([f"results would lie in {two.path}/results/later", "and in out/w*"])
    assert two.asked == []
    assert not (two.path / "results").exists()


def test_a_dry_run_tells_how_long_it_takes_once_a_run_has_shown_it(two: Any) -> None:
    unknown = "how long that takes is not known: no run in */results has asked it of *"
    two.run("--dry-run").stdout.fnmatch_lines([unknown])
    two.run("--run-id=monday")
    result = two.run("--dry-run")
    result.stdout.fnmatch_lines(
        ["about 1 second of answering where none is stored, as fast as in monday"]
    )


@pytest.mark.parametrize("option", ["--dry-run", "--list-benchmarks"])
def test_what_is_shown_is_the_same_with_workers(two: Any, option: str) -> None:
    def shown(*options: str) -> list[str]:
        found = two.run_apart("-q", "--run-id=later", option, *options)
        assert found.ret == 0
        return [line for line in found.outlines if "no tests ran in" not in line]

    alone = shown()
    assert any("letter" in line for line in alone)
    assert shown("-n1") == alone


def test_a_file_without_mistakes_is_said_to_have_none(two: Any) -> None:
    result = two.run(configured(two, tasks={"word": {}}), "--validate-config")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*eval.json: no mistakes"])
    assert two.asked == []


def test_a_setting_of_lm_eval_tasks_for_another_benchmark_is_refused(two: Any) -> None:
    tasks = {"word": {"gen_kwargs": {"temperature": 0.8}, "num_fewshot": 3, "limit": 2}}
    result = two.run(configured(two, tasks=tasks))
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*eval.json: 2 mistakes:",
            "  tasks.word.num_fewshot: of lm-eval tasks only, and word is none; *",
            "  tasks.word.gen_kwargs: of lm-eval tasks only, and word is none; use --temperature*",
        ]
    )
    assert not two.asked
    suite = {"real": {"system_instruction": "Be brief.", "apply_chat_template": False}}
    result = two.run(configured(two, tasks=suite), "--validate-config")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["  tasks.real.system_instruction: of lm-eval tasks only*"])
    assert "apply_chat_template" not in result.stderr.str()  # which changes nothing


def test_a_disabled_entry_is_checked_where_the_file_is_validated(two: Any) -> None:
    option = configured(two, tasks={"word": {}, "lettr": {"enabled": False}})
    assert two.run(option, "--list-benchmarks").ret == 0
    result = two.run(option, "--validate-config")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "tasks.lettr names 'lettr' (did you mean 'letter'?)" in str(result.stderr)


def test_nothing_can_be_checked_without_a_file(two: Any) -> None:
    result = two.run("--validate-config")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--validate-config: there is no file to check"])
