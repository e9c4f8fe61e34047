"""lm-eval's tasks by name: what is found, what is refused, and what lm-eval costs when unused."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import (
    CompoundResponse,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
)
from ckptbench.config.options import Options
from ckptbench.fixtures.lm_eval import tasks as loading
from ckptbench.fixtures.lm_eval.benchmarks import benchmark_of, lm_eval_benchmarks, reducer_of
from ckptbench.fixtures.lm_eval.documents import Documents
from ckptbench.fixtures.lm_eval.internals import holds, task_manager
from ckptbench.fixtures.lm_eval.tasks import Wanted

ROOT = Path(__file__).parents[3]
needs_lm_eval = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)


@pytest.fixture(autouse=True)
def _no_words(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing that is done here prints: it would stand in the middle of pytest's lines."""
    yield
    assert capfd.readouterr().out == ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = runpy.run_path(str(ROOT / "tests/lm_eval_tasks/small_tasks.py"))
    written: Path = small["write"](tmp_path_factory.mktemp("tasks"))
    text = (written / "tiny_f1.yaml").read_text()
    unsafe = text.replace("task: tiny_f1\n", "task: code\nunsafe_code: true\n")
    (written / "code.yaml").write_text(unsafe)
    return written


def wanted(folder: Path, *tasks: str, **settings: Any) -> Wanted:
    return Wanted(tasks, (folder,), **settings)


# What lm-eval costs


@pytest.mark.parametrize("module", ["benchmarks.test_lm_eval", "fixtures.lm_eval.results"])
def test_lm_eval_is_not_imported_before_a_task_is_named(module: str) -> None:
    code = (
        f"import sys, ckptbench.{module}\n"
        "loaded = {'lm_eval', 'torch', 'datasets', 'transformers'} & sys.modules.keys()\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_session_without_tasks_does_not_import_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import sys\n\n"
        "def pytest_collection_finish(session):\n"
        "    assert 'lm_eval' not in sys.modules\n"
    )
    module = ROOT / "benchmarks/test_lm_eval.py"
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", f"--confcutdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", str(module), str(tmp_path), *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "no tests collected" in done.stdout, done.stdout


def test_without_lm_eval_its_tasks_say_how_to_get_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading._manager.cache_clear()
    monkeypatch.setitem(sys.modules, "lm_eval.tasks", None)
    with pytest.raises(CkptbenchError) as refused:
        loading.load(wanted(folder, "tiny_f1", num_fewshot=9))
    assert str(refused.value).startswith("--tasks: --tasks needs lm-eval")
    assert refused.value.remedy == "pip install 'ckptbench[lm-eval]'"
    assert loading.all_names((folder,)) == []
    loading._manager.cache_clear()


@needs_lm_eval
def test_a_template_is_compiled_once_for_all_documents(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lm_eval.utils import apply_template, env

    loading._manager((folder,), own=True)
    compiled: list[str] = []
    compile_source: Any = env.compile
    monkeypatch.setattr(
        env, "compile", lambda source, *more: compiled.append(source) or compile_source(source)
    )
    rows = [apply_template("{{ word }}, once compiled", {"word": word}) for word in "ab"]
    assert rows == ["a, once compiled", "b, once compiled"]
    assert compiled == ["{{ word }}, once compiled"]


@needs_lm_eval
def test_a_file_that_tasks_include_is_read_once_for_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks import _yaml_loader as loader

    (tmp_path / "_base").write_text("output_type: multiple_choice\ntag: [mine]\n")
    for name in "abc":
        (tmp_path / f"{name}.yaml").write_text(f"include: _base\ntask: own_{name}\n")
    theirs = TaskManager(include_path=str(tmp_path), include_defaults=False)
    read: list[str] = []
    load: Any = loader.yaml.load
    monkeypatch.setattr(
        loader.yaml,
        "load",
        lambda file, **how: read.append(Path(file.name).name) or load(file, **how),
    )
    ours = task_manager([str(tmp_path)], own=True)
    assert ours.task_index == theirs.task_index
    assert sorted(read) == ["_base", "a.yaml", "b.yaml", "c.yaml"]


# Names


@needs_lm_eval
def test_only_names_of_own_tasks_do_without_lm_evals(folder: Path) -> None:
    def known(*names: str) -> set[str]:
        return set(loading._manager_of(wanted(folder, *names)).all_tasks)

    assert "arc_easy" not in known("tiny_signs", "tiny_f1") >= {"tiny_signs", "tiny_choices"}
    assert "arc_easy" not in known("tiny_choices")
    # A pattern may mean lm-eval's.
    assert "arc_easy" in known("tiny_*")
    assert "arc_easy" in known("tiny_signs", "arc_easy")


@needs_lm_eval
@pytest.mark.parametrize(
    ("members", "alone"),
    [
        ("[one, inner]", True),
        ("[one, arc_easy]", False),
        ("[inner, lambada]", False),  # a group of lm-eval's
        ("[{task: one, num_fewshot: 1}]", False),
        ("[outer]", False),
        ("one", False),
    ],
)
def test_a_group_does_without_lm_evals_when_all_in_it_are_ones_own(
    members: str, alone: bool, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text("task: one\n")
    (tmp_path / "inner.yaml").write_text("group: inner\ntask: [one]\n")
    (tmp_path / "outer.yaml").write_text(f"group: outer\ntask: {members}\n")
    assert holds(task_manager([str(tmp_path)], own=True), "outer") == alone


@needs_lm_eval
def test_a_group_stands_for_its_tasks(folder: Path) -> None:
    found = loading.load(wanted(folder, "tiny_choices"))
    assert set(found.tasks) == {"tiny_signs", "tiny_numbers"}
    assert set(found.groups) == {"tiny_choices"}


@needs_lm_eval
def test_a_pattern_and_a_file_name_tasks(folder: Path) -> None:
    assert set(loading.load(wanted(folder, "tiny_[nr]*")).tasks) == {"tiny_numbers", "tiny_return"}
    assert set(loading.load(wanted(folder, str(folder / "tiny_f1.yaml"))).tasks) == {"tiny_f1"}


@needs_lm_eval
def test_a_task_that_is_named_twice_is_asked_once(folder: Path) -> None:
    found = loading.load(wanted(folder, "tiny_signs", "tiny_[s]*", "tiny_signs"))
    assert set(found.tasks) == {"tiny_signs"}


@needs_lm_eval
def test_a_pattern_means_tasks_before_groups(folder: Path) -> None:
    """A group and its tasks would ask the same documents twice."""
    found = loading.load(wanted(folder, "tiny_*s"))
    assert set(found.tasks) == {"tiny_signs", "tiny_numbers"}
    assert found.groups == {}
    assert set(loading.load(wanted(folder, "*_choices")).groups) == {"tiny_choices"}


@needs_lm_eval
def test_a_group_and_one_of_its_tasks_are_not_asked_together(folder: Path) -> None:
    with pytest.raises(CkptbenchError, match="Duplicate task 'tiny_signs'") as refused:
        loading.load(wanted(folder, "tiny_signs", "tiny_choices"))
    assert refused.value.remedy == "name a group or its tasks, not both"


@needs_lm_eval
@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("tiny_sings", r"no task, group or tag 'tiny_sings' \(did you mean 'tiny_signs'\?\)"),
        ("tiny_z*", "no task, group or tag"),
        ("code", "code runs generated code in this process"),
    ],
)
def test_what_cannot_be_asked_is_refused(folder: Path, task: str, message: str) -> None:
    with pytest.raises(CkptbenchError, match=message):
        loading.load(wanted(folder, task))


@needs_lm_eval
def test_names_are_checked_without_reading_any_dataset() -> None:
    loading.check_names(Wanted(("gsm8k", "mmlu_stem", "winogrande")))
    with pytest.raises(CkptbenchError, match="did you mean 'gsm8k'"):
        loading.check_names(Wanted(("gms8k",)))


@pytest.mark.slow
@needs_lm_eval
def test_a_dataset_that_is_not_there_is_named(folder: Path, tmp_path: Path) -> None:
    text = (folder / "tiny_f1.yaml").read_text().replace("task: tiny_f1\n", "task: lost\n")
    text = text.replace("tiny_f1.jsonl", "lost.jsonl").replace("!function graded.token_f1", "null")
    (tmp_path / "lost.yaml").write_text(text)
    with pytest.raises(CkptbenchError, match=r"(?s)lm-eval cannot load lost: .*lost\.jsonl"):
        loading.load(Wanted(("lost",), (tmp_path,)))


@pytest.mark.slow
@needs_lm_eval
def test_a_list_of_benchmarks_needs_no_dataset(tmp_path: Path) -> None:
    task = (
        "task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: none.jsonl}}}}\n"
    )
    for name in ("lost_a", "lost_b", "lost_c", "lost_d"):
        (tmp_path / f"{name}.yaml").write_text(task.format(name=name) + "test_split: test\n")
    given = {"tasks": ("lost_*",), "include_path": (tmp_path,)}
    options = Options(**given)
    with pytest.raises(CkptbenchError, match="cannot load lost_a, lost_b, lost_c and 1 more"):
        list(lm_eval_benchmarks(options))
    with pytest.warns(UserWarning, match="cannot load lost_a"):
        assert list(lm_eval_benchmarks(replace(options, list_benchmarks=True))) == []


@needs_lm_eval
def test_an_include_path_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match=r"--include-path: .* is no folder"):
        loading.load(Wanted(("gsm8k",), (tmp_path / "none",)))


# Documents


def documents(folder: Path, task: str, **settings: Any) -> Documents:
    return Documents(task, loading.load(wanted(folder, task, **settings)).tasks[task])


@needs_lm_eval
@pytest.mark.parametrize(("limit", "count"), [(None, 11), (3, 3), (0.2, 3), (99, 11)])
def test_a_limit_takes_the_first_documents(folder: Path, limit: float | None, count: int) -> None:
    samples = documents(folder, "tiny_signs", limit=limit).samples()
    assert [sample.id for sample in samples] == [f"tiny_signs/{n}" for n in range(count)]


@needs_lm_eval
@pytest.mark.parametrize(
    ("task", "kind", "parts"),
    [
        ("tiny_signs", LogLikelihood, 4),
        ("tiny_return", Generate, 1),
        ("tiny_text", LogLikelihoodRolling, 1),
    ],
)
def test_requests_of_all_kinds(folder: Path, task: str, kind: type, parts: int) -> None:
    asked = documents(folder, task)
    request = asked.request(asked.samples()[0])
    assert [type(part) for part in request.parts] == [kind] * parts


@needs_lm_eval
def test_what_a_task_says_of_generating_is_obeyed(folder: Path) -> None:
    asked = documents(folder, "tiny_return")
    (request,) = asked.request(asked.samples()[0]).parts
    assert isinstance(request, Generate)
    assert (request.stop, request.max_tokens, request.temperature) == (("\n\n", "\ndef"), 24, 0.0)


@needs_lm_eval
def test_each_filter_scores_for_itself(folder: Path) -> None:
    asked = documents(folder, "tiny_return")
    sample = asked.samples()[1]  # divided by 7
    answers = CompoundResponse((Generated("    return n // 7\n", 9, "eos"),))
    assert asked.score(sample, answers).values == {
        "exact_match,strict-match": 0.0,
        "exact_match,flexible-extract": 1.0,
    }


@needs_lm_eval
def test_choices_are_scored_with_and_without_their_length(folder: Path) -> None:
    """The long choice is less likely than the others, and likelier for its length."""
    asked = documents(folder, "tiny_numbers")
    sample = asked.samples()[0]
    choices, target = sample["doc"]["choices"], int(sample["target"])
    long = max(range(3), key=lambda n: len(choices[n]))
    answers = CompoundResponse(
        tuple(Likelihood(-9.0 if n == long else -8.0 - n / 10, False, 5) for n in range(3))
    )
    found = asked.score(sample, answers).values
    assert found["acc,none"] == float(target == min({0, 1, 2} - {long}))
    assert found["acc_norm,none"] == float(target == long)


@needs_lm_eval
def test_only_means_are_gated_and_the_first_decides(folder: Path) -> None:
    tasks = loading.load(wanted(folder, "tiny_f1", "tiny_text", "tiny_return")).tasks
    graded = reducer_of(tasks["tiny_f1"])
    assert graded.names == ("em,none", "f1,none", "f1_even,none")
    assert (graded.decides, graded.corpus) == ("em,none", ())
    rolling = reducer_of(tasks["tiny_text"])
    assert (rolling.names, rolling.decides) == (("gold_bits_per_byte,none",), "")
    assert set(rolling.corpus) == {
        "word_perplexity,none",
        "byte_perplexity,none",
        "bits_per_byte,none",
    }
    filtered = reducer_of(tasks["tiny_return"])
    assert filtered.names == ("exact_match,strict-match", "exact_match,flexible-extract")


@needs_lm_eval
@pytest.mark.parametrize(("shots", "name"), [(None, "v1.5-2-shot"), (0, "v1.5-0-shot")])
def test_a_protocol_names_version_and_examples(folder: Path, shots: int | None, name: str) -> None:
    task = loading.load(wanted(folder, "tiny_numbers", num_fewshot=shots)).tasks["tiny_numbers"]
    benchmark = benchmark_of("tiny_numbers", task)
    assert benchmark.protocols[0].name == f"tiny_numbers/{name}"


@needs_lm_eval
def test_a_task_of_an_odd_name_has_ids_that_can_be_typed(folder: Path) -> None:
    task = loading.load(wanted(folder, "tiny_f1")).tasks["tiny_f1"]
    ids = [sample.id for sample in Documents("own task: 100%/é", task).samples()]
    assert ids[0] == "own-task-100/0"


@needs_lm_eval
def test_documents_that_are_alike_are_samples_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "n", "c": ["x", "y"], "a": 0}\n' * 3)
    task = {
        "task": "same",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "rows.jsonl")}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{q}}",
        "doc_to_choice": "{{c}}",
        "doc_to_target": "{{a}}",
        "metric_list": [{"metric": "acc"}],
    }
    (tmp_path / "same.yaml").write_text(json.dumps(task))
    samples = documents(tmp_path, "same").samples()
    assert len({sample.hash for sample in samples}) == 3
