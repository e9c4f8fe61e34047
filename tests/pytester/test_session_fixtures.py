"""A benchmark function takes session fixtures; they are set up once for all its samples."""

from __future__ import annotations

from typing import Any

import pytest

WORDS = """
@pytest.fixture(scope="session")
def words():
    note("notes.log", "words up")
    yield {"right"}
    note("notes.log", "words down")
"""


def notes(project: Any) -> list[str]:
    path = project.path / "notes.log"
    return path.read_text().splitlines() if path.exists() else []


def taking(project: Any, arguments: str, conftest: str, **other: Any) -> None:
    project.write(conftest=conftest, **other)
    project.change("test_bench.py", "def test_word(response, k)", f"def test_word({arguments})")


def test_a_session_fixture_is_set_up_and_torn_down_once(project: Any) -> None:
    taking(project, "response, words, k", WORDS)
    assert project.run().ret == 0
    assert notes(project) == ["words up", "words down"]


def test_hand_written_tests_share_it(project: Any) -> None:
    by_hand = "def test_by_hand(words, engine):\n    assert words == {'right'}\n"
    taking(project, "response, words, k", WORDS, by_hand=by_hand)
    assert project.run().ret == 0
    assert notes(project) == ["words up", "words down"]
    assert project.run("test_hand.py").ret == 0


def test_two_benchmarks_share_it(project: Any) -> None:
    taking(project, "response, words, k", WORDS)
    text = (project.path / "test_bench.py").read_text()
    project.file("test_bench_2.py", text.replace("word/", "more/"))
    assert project.run().ret == 0
    assert notes(project) == ["words up", "words down"]
    assert project.ran(project.run("-v"))["s-00"] == "PASSED"


def test_the_engine_is_torn_down_at_the_end(project: Any) -> None:
    project.write(
        conftest="""
@pytest.fixture(scope="session")
def engine():
    note("notes.log", "engine up")
    yield Scripted()
    note("notes.log", "engine down")
"""
    )
    project.run()
    assert notes(project) == ["engine up", "engine down"]


def test_an_autouse_session_fixture_is_set_up(project: Any) -> None:
    project.write(
        conftest="""
@pytest.fixture(scope="session", autouse=True)
def everywhere():
    note("notes.log", "up")
    yield
    note("notes.log", "down")
"""
    )
    project.run("test_bench.py")
    assert notes(project) == ["up", "down"]


def test_setup_module_is_run_once(project: Any) -> None:
    project.write()
    text = (project.path / "test_bench.py").read_text()
    project.file(
        "test_bench.py",
        text + "\n\ndef setup_module():\n    open('notes.log', 'a').write('up\\n')\n"
        "\n\ndef teardown_module():\n    open('notes.log', 'a').write('down\\n')\n",
    )
    project.run()
    assert notes(project) == ["up", "down"]


def test_a_fixture_may_depend_on_others_and_on_request(project: Any) -> None:
    taking(
        project,
        "response, sentences, k",
        WORDS
        + """
@pytest.fixture(scope="session")
def sentences(words, request, tmp_path_factory):
    note("notes.log", f"{request.scope} {sorted(words)}")
    return list(words)
""",
    )
    assert project.run().ret == 0
    assert notes(project) == ["words up", "session ['right']", "words down"]


@pytest.mark.parametrize("scope", ["function", "module", "package", "class"])
def test_a_fixture_of_another_scope_is_a_clear_collection_error(project: Any, scope: str) -> None:
    taking(
        project,
        "response, short, k",
        f"\n@pytest.fixture(scope={scope!r})\ndef short():\n    return 1\n",
    )
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"*test_bench.py::test_word: fixture 'short' has scope '{scope}'*", "*scope='session'*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert project.asked == []


def test_an_unknown_fixture_is_a_clear_collection_error(project: Any) -> None:
    taking(project, "response, wrods, k", "")
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*test_bench.py::test_word: no fixture named 'wrods'*"])


def test_a_fixture_that_fails_is_shown_once_and_makes_every_item_an_error(project: Any) -> None:
    taking(
        project,
        "response, broken, k",
        "\n@pytest.fixture(scope='session')\ndef broken():\n"
        "    open(HERE / 'tried.log', 'a').write('.')\n    return {}['no such model']\n",
    )
    result = project.run()
    assert result.ret == 1
    assert project.coverage["errors"] == 4
    assert (project.path / "tried.log").read_text() == "."
    whole = [line for line in result.outlines if "return {}['no such model']" in line]
    lines = [line for line in result.outlines if "no engine for word/plain" in line]
    assert len(whole) == 1
    assert "no engine for word/plain of engine: KeyError: 'no such model'" in lines[0]
    assert len(lines) == 2  # when it happens, and among the run's notes
    assert project.asked == []


def test_the_engine_fixture_failing_leaves_hand_written_tests_alone(project: Any) -> None:
    project.write(conftest="\n@pytest.fixture(scope='session')\ndef engine():\n    1 / 0\n")
    result = project.run("-v")
    assert project.ran(result)["test_by_hand"] == "PASSED"
    assert project.ran(result)["s-00"] == "ERROR"
    assert result.ret == 1


def test_a_fixture_that_skips_skips_the_benchmark(project: Any) -> None:
    taking(
        project,
        "response, gpu, k",
        "\n@pytest.fixture(scope='session')\ndef gpu():\n    pytest.skip('no GPU here')\n",
    )
    result = project.run("-rs")
    result.stdout.fnmatch_lines(["*no GPU here*"])
    assert project.coverage["skipped"] == {"no GPU here": 4}
    assert result.ret == 0


def test_a_fixture_that_fails_in_teardown_fails_the_run(project: Any) -> None:
    project.write(
        conftest="\n@pytest.fixture(scope='session')\ndef engine():\n"
        "    yield Scripted()\n    raise OSError('cannot free the GPU')\n"
    )
    result = project.run("test_bench.py")
    result.stdout.fnmatch_lines(["*cannot free the GPU*"])
    assert result.ret == 1


def test_a_parametrized_session_fixture_is_a_clear_collection_error(project: Any) -> None:
    taking(
        project,
        "response, size, k",
        "\n@pytest.fixture(scope='session', params=[1, 2])\ndef size(request):\n"
        "    return request.param\n",
    )
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*test_bench.py::test_word: fixture 'size' is parametrized*"])


def test_a_parametrized_autouse_fixture_of_other_tests_is_none_of_our_business(
    project: Any,
) -> None:
    project.write(
        conftest="\n@pytest.fixture(autouse=True, params=[1, 2])\ndef twice(request):\n"
        "    return request.param\n"
    )
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*4 passed, 2 missed*"])


def test_no_checkpoint_and_no_engine_is_refused_before_anything_runs(project: Any) -> None:
    project.write()
    project.file("conftest.py", "")
    result = project.run_apart()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--checkpoint: the benchmarks need a model to ask*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_users_engine_per_checkpoint_gets_each_in_its_turn(project: Any) -> None:
    project.write(
        conftest="""
@pytest.fixture(scope="session")
def checkpoint(request):
    note("notes.log", f"load {request.param.spec}")
    yield request.param.spec
    note("notes.log", f"release {request.param.spec}")


@pytest.fixture(scope="session")
def engine(checkpoint):
    scripted = Scripted()
    scripted.fingerprint = checkpoint
    return scripted
"""
    )
    result = project.run("-v", "--checkpoint=runs/a", "--checkpoint=runs/b", "test_bench.py")
    assert result.ret == 0
    assert notes(project) == ["load runs/a", "release runs/a", "load runs/b", "release runs/b"]
    assert list(project.ran(result)) == [f"{name}/s-0{i}" for name in "ab" for i in range(4)]
    assert [c["name"] for c in project.summary["checkpoints"]] == ["a", "b"]
    assert [c["fingerprint"] for c in project.summary["checkpoints"]] == ["runs/a", "runs/b"]
