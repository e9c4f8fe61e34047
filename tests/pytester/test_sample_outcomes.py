"""What an item comes to: passed, missed, skipped by rule, or an error. An error is never a miss."""

from __future__ import annotations

from typing import Any

import pytest


def texts_with(text: str) -> list[str]:
    return ["right 00", "wrong 01", text, "right 03"]


def is_error(project: Any, result: pytest.RunResult, others: int = 3) -> None:
    """The third sample is an error, the run incomplete, the others are scored."""
    assert project.statuses["test_bench.py::test_word[s-02]"] == "error"
    assert project.coverage["errors"] == 1
    assert project.coverage["scored"] == others
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*incomplete: 1 error: exit 1*"])


def with_function(project: Any, body: str) -> None:
    """Give the benchmark another function; what stands above it goes above the decorator."""
    above, head, function = body.partition("def test_word")
    project.write(texts_with("right 02"))
    project.change("test_bench.py", "@samples", f"{above}@samples")
    project.change(
        "test_bench.py",
        "def test_word(response, k):\n    assert response.within(k)\n",
        head + function,
    )


def test_a_failed_assert_of_the_function_is_a_miss(standard: Any) -> None:
    result = standard.run("-v")
    assert standard.ran(result)["s-01"] == "MISSED"
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*assert response.within*")


def test_a_raised_miss_is_a_miss_with_its_reason(project: Any) -> None:
    with_function(
        project,
        "from ckptbench import Miss\n\n"
        "def test_word(sample, response, k):\n"
        "    if not response.within(k):\n        raise Miss('said something else')\n",
    )
    project.run("--junitxml=report.xml", "--ckpt-junit=samples")
    assert project.statuses["test_bench.py::test_word[s-01]"] == "missed"
    assert "missed: said something else" in (project.path / "report.xml").read_text()


def test_a_miss_raised_by_a_helper_is_a_miss(project: Any) -> None:
    with_function(
        project,
        "from ckptbench import Miss\n\n"
        "def check(response, k):\n"
        "    if not response.within(k):\n        raise Miss\n\n"
        "def test_word(response, k):\n    check(response, k)\n",
    )
    assert project.run().ret == 0
    assert project.statuses["test_bench.py::test_word[s-01]"] == "missed"


def test_an_assert_deeper_in_a_helper_is_an_error(project: Any) -> None:
    with_function(
        project,
        "def check(sample):\n    assert sample.id != 's-02', 'a broken helper'\n\n"
        "def test_word(sample, response, k):\n    check(sample)\n    assert response.within(k)\n",
    )
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*AssertionError: a broken helper*"])


def test_any_other_exception_is_an_error_with_the_users_traceback(project: Any) -> None:
    with_function(
        project,
        "def parse(sample):\n    return {}[sample.id]\n\n"
        "def test_word(sample, response, k):\n"
        "    if sample.id == 's-02':\n        parse(sample)\n    assert response.within(k)\n",
    )
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*ERROR at call of test_word?s-02?*", "*KeyError: 's-02'*"])
    for machinery in ("*judging.py*", "*running.py*", "*items.py*", "*_callers.py*"):
        result.stdout.no_fnmatch_line(machinery)


@pytest.mark.parametrize("style", ["long", "short", "line", "native", "no"])
def test_errors_are_shown_in_every_traceback_style(project: Any, style: str) -> None:
    with_function(project, "def test_word(response, k):\n    return 1 / 0\n")
    result = project.run(f"--tb={style}", "-k", "s-00")
    assert project.coverage["errors"] == 1
    if style != "no":
        result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


def test_a_graded_value_counts_as_what_it_is_and_passes_at_one(project: Any) -> None:
    with_function(
        project,
        "GRADES = {'s-00': 1.0, 's-01': 0, 's-02': 0.5, 's-03': 1}\n\n"
        "def test_word(sample, response):\n    return GRADES[sample.id]\n",
    )
    project.change("test_bench.py", "score=top_k(1, 5)", "score=mean()")
    project.change("test_bench.py", "samples, top_k", "mean, samples")
    assert project.run().ret == 0
    assert project.scores == {"word": 0.625}
    assert list(project.statuses.values()) == ["passed", "missed", "missed", "passed"]


@pytest.mark.parametrize("returned", ["True", "'yes'", "2", "-0.1", "float('nan')"])
def test_a_return_value_that_is_no_grade_is_an_error(project: Any, returned: str) -> None:
    with_function(
        project,
        "def test_word(sample, response, k):\n"
        f"    if sample.id == 's-02':\n        return {returned}\n    assert response.within(k)\n",
    )
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*expected None or a number from 0 to 1*"])


def test_the_function_is_called_for_each_k_and_the_item_passes_at_the_first(project: Any) -> None:
    with_function(
        project,
        "def test_word(sample, response, k):\n"
        "    with open('ks.log', 'a') as log:\n        log.write(f'{sample.id} {k}\\n')\n"
        "    assert k >= 3\n",
    )
    project.run("--k=word=5,1,3", "-k", "s-00")
    assert (project.path / "ks.log").read_text().splitlines() == ["s-00 1", "s-00 3", "s-00 5"]
    assert project.scores == {"word@1": 0.0, "word@3": 1.0, "word@5": 1.0}
    assert project.statuses == {"test_bench.py::test_word[s-00]": "missed"}


def test_a_failed_answer_is_an_error_with_its_reason(project: Any) -> None:
    project.write(texts_with("failed 02"))
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(
        [
            "no answer: the server said no",
            "status 500",
            "ERROR test_bench.py::test_word?s-02?*",
        ]
    )
    assert project.result["errors"] == ["test_bench.py::test_word[s-02]: the server said no"]
    (folder,) = project.run_folders
    assert "the server said no" in (folder / "errors.log").read_text()


def test_an_engine_that_raises_loses_only_what_it_had_not_answered(project: Any) -> None:
    project.write(["right 00", "wrong 01", "raise 02", "right 03"])
    result = project.run()
    assert project.coverage["scored"] == 2
    assert project.coverage["errors"] == 2
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the engine failed: RuntimeError: out of memory*"])


@pytest.mark.parametrize("stop", ["sys.exit(3)", "pytest.fail('no')", "pytest.skip('no')"])
def test_an_engine_that_leaves_its_thread_loses_no_time_and_no_answer(
    project: Any, stop: str
) -> None:
    project.write(texts_with("leave 02"))
    project.change(
        "conftest.py",
        '        if word == "slow":',
        f'        if word == "leave":\n            import sys; {stop}\n        if word == "slow":',
    )
    result = project.run()
    assert project.coverage["errors"] == 2
    assert project.coverage["scored"] == 2
    assert result.ret == 1


def test_a_sample_without_an_answer_is_an_error(project: Any) -> None:
    project.write(texts_with("silent 02"))
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*the engine gave no answer for this sample*"])


def test_answering_twice_is_refused_and_the_first_answer_counts(project: Any) -> None:
    project.write(["right 00", "wrong 01", "twice 02"])
    project.run()
    assert project.statuses["test_bench.py::test_word[s-02]"] == "passed"
    project.write(["right 00", "wrong 01", "twice 02", "right 03"])
    result = project.run("--no-resume")
    assert project.coverage["errors"] == 1
    assert project.statuses["test_bench.py::test_word[s-03]"] == "error"
    result.stdout.fnmatch_lines(["*it answered request 2 twice*"])


def test_an_answer_to_no_request_is_refused(project: Any) -> None:
    project.write(["right 00", "beyond 1", "right 02"])
    result = project.run()
    assert project.coverage["scored"] == 1
    assert project.coverage["errors"] == 2
    result.stdout.fnmatch_lines(["*it answered request 10000 of 3*"])


@pytest.mark.parametrize(
    "answer",
    ["None", "'word'", "Filled(('x',), (Odd(),), 1, 1)", "Filled((object(),), (0.0,), 1, 1)"],
)
def test_what_is_no_response_is_an_error_of_that_sample(project: Any, answer: str) -> None:
    project.write(texts_with("odd 00002"))
    project.change(
        "conftest.py",
        '        if word == "slow":',
        "        class Odd:\n            pass\n"
        f'        if word == "odd":\n            yield index, {answer}\n            return\n'
        '        if word == "slow":',
    )
    result = project.run("-k", "s-00 or s-01 or s-02")
    is_error(project, result, others=2)
    result.stdout.fnmatch_lines(["*no response of plain values*"])


def test_a_sample_that_cannot_be_asked_is_an_error_of_its_own(project: Any) -> None:
    project.write(texts_with("unaskable"))
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*could not be asked: ValueError: no mask in the text*"])
    assert "unaskable" not in project.asked


def test_a_response_that_cannot_be_read_is_an_error_of_its_own(project: Any) -> None:
    project.write(texts_with("unreadable"))
    result = project.run()
    is_error(project, result)
    result.stdout.fnmatch_lines(["*could not be read: LookupError: no such candidate*"])


def test_what_the_protocol_skips_is_counted_apart(project: Any) -> None:
    project.write(texts_with("skipped 2"))
    result = project.run("-v")
    assert project.ran(result)["s-02"] == "SKIPPED"
    assert result.ret == 0
    assert project.coverage == {
        "planned": 4,
        "scored": 3,
        "skipped": {"too_long": 1},
        "errors": 0,
        "not_run": 0,
        "reachable": None,
        "not_needed": 0,
    }
    assert project.scores["word@1"] == pytest.approx(2 / 3)


def test_all_samples_skipped_is_no_score(project: Any) -> None:
    project.write(["skipped 0", "skipped 1"])
    result = project.run()
    assert project.scores == {"word@1": None, "word@5": None}
    result.stdout.no_fnmatch_line("*Traceback*")


def test_many_errors_of_one_cause_are_counted_and_few_are_shown(project: Any) -> None:
    project.write(["raise before the others"] + [f"right {i:02}" for i in range(60)])
    result = project.run("test_bench.py")
    assert project.coverage["errors"] == 61
    assert len([line for line in result.outlines if "ERROR at call" in line]) == 10
    assert len([line for line in result.outlines if "raise RuntimeError" in line]) <= 1
    result.stdout.fnmatch_lines(["*= 61 errors in *"])


def test_a_benchmark_in_a_class_is_a_clear_collection_error(standard: Any) -> None:
    text = (standard.path / "test_bench.py").read_text()
    head, at, function = text.partition("@samples")
    body = "\n".join(f"    {line}" for line in (at + function).splitlines())
    standard.file("test_bench.py", f"{head}class TestWords:\n{body}\n")
    result = standard.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*test_bench.py::TestWords::test_word: a benchmark function belongs in a module*"]
    )


def test_two_benchmarks_of_one_module_are_scored_apart(standard: Any) -> None:
    text = (standard.path / "test_bench.py").read_text()
    standard.file(
        "test_bench.py",
        text + "\n\n@samples(ROWS, protocol=EvalProtocol('again/plain', ask), score=top_k(1))\n"
        "def test_again(response, k):\n    assert not response.within(k)\n",
    )
    standard.run()
    (checkpoint,) = standard.summary["checkpoints"]
    values = {s["metric"]: s["value"] for b in checkpoint["benchmarks"] for s in b["scores"]}
    assert values == {"word@1": 0.5, "word@5": 0.75, "again@1": 0.5}


def test_several_protocols_are_asked_side_by_side_and_the_first_is_gated(standard: Any) -> None:
    standard.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(PROTOCOL, OTHER)")
    result = standard.run("-v")
    assert "other/s-01" in standard.ran(result)
    (checkpoint,) = standard.summary["checkpoints"]
    assert [(b["protocol"], b["primary"]) for b in checkpoint["benchmarks"]] == [
        ("word/plain", True),
        ("word/other", False),
    ]
    assert len(standard.ran(standard.run("-v", "--protocol=word=other", "test_bench.py"))) == 4


@pytest.mark.parametrize(("limit", "asked"), [("3", 3), ("0.5", 2), ("0.6", 3), ("99", 4)])
def test_a_limit_asks_the_first_samples(standard: Any, limit: str, asked: int) -> None:
    standard.run(f"--limit={limit}")
    assert standard.coverage["planned"] == asked


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("[]", "the dataset has no samples"),
        ("[Sample('a b', {'text': 'x'})]", "'a b' has characters beyond"),
        ("[Sample('a', {'text': 'x'}), Sample('a', {'text': 'y'})]", "'a' is used twice"),
        ("[Sample('a', {'text': 'x'}), Sample('b', {'text': 'x'})]", "have the same content"),
        ("[{'text': 'x'}]", "the dataset gave dict"),
    ],
)
def test_a_dataset_that_cannot_be_used_is_a_collection_error(
    standard: Any, rows: str, message: str
) -> None:
    standard.change("test_bench.py", "@samples(ROWS", f"@samples({rows}")
    result = standard.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*test_bench.py::test_word: *{message}*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert standard.asked == []


def test_a_function_that_does_not_take_the_scores_k_is_a_collection_error(standard: Any) -> None:
    standard.change("test_bench.py", "def test_word(response, k)", "def test_word(response, n=1)")
    result = standard.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the function does not take `k`, but its score has k = (1, 5)*"])


def test_two_functions_cannot_share_a_benchmark_name(pytester: pytest.Pytester) -> None:
    module = """
        from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

        ASKED = EvalProtocol("word/plain", lambda sample, _: FillMask(sample["text"], (0, 1), "x"))

        @samples([Sample("one", {{"text": "{text}"}})], protocol=ASKED, score=top_k(1))
        def test_word(response, k):
            assert response.within(k)
    """
    pytester.makepyfile(test_a=module.format(text="a"), test_b=module.format(text="b"))
    result = pytester.runpytest_inprocess("--collect-only")
    result.stderr.fnmatch_lines(["*test_b.py::test_word: the benchmark name 'word' is taken by*"])
