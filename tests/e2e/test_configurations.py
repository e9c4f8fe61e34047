"""The ready configurations, and the examples of docs/configuration.md and docs/lm-eval.md, run."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
PAGES = ("docs/configuration.md", "docs/lm-eval.md")
STEM = 14

needs_lm_eval = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def files(page: str) -> dict[str, str]:
    """The blocks of a page that are whole files, by name."""
    pattern = r'^```\w+ title="([^"]+)"\n(.*?)^```$'
    return dict(re.findall(pattern, text_of(page), re.MULTILINE | re.DOTALL))


def command_of(page: str, part: str) -> str:
    """The one command of a page that holds a part."""
    blocks = re.findall(r"^```shell\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    (found,) = [line for line in lines if part in line]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_elsewhere: Any) -> Any:
    """Somebody's folder with the ready configurations and the files of the pages."""
    workspace = make_elsewhere(tmp_path_factory.mktemp("configured"))
    shutil.copytree(REPOSITORY / "configs", workspace.path / "configs")
    for page in PAGES:
        for name, text in files(page).items():
            (workspace.path / name).parent.mkdir(exist_ok=True)
            (workspace.path / name).write_text(text, encoding="utf-8")
    return workspace


def planned(workspace: Any, run_id: str) -> dict[str, int]:
    """Samples of each benchmark that a run asked."""
    run = RunFolder(workspace.path / "results" / run_id)
    return {
        bench["benchmark"]: bench["coverage"]["planned"]
        for checkpoint in run.summary["checkpoints"]
        for bench in checkpoint["benchmarks"]
    }


# The ready configurations


@pytest.mark.slow
@needs_lm_eval
def test_a_ready_configuration_has_no_mistakes(folder: Any) -> None:
    """Of the other two, one is run below, and one is validated as the page says."""
    said = folder.run(
        "ckptbench run --eval-config=configs/base-vs-finetuned.json --validate-config"
    )
    assert "configs/base-vs-finetuned.json: no mistakes" in said.expect(0)


def test_quick_is_the_production_file_with_one_sample_each() -> None:
    production, quick = (
        json.loads(text_of(f"configs/{name}.json")) for name in ("eval_config", "quick")
    )
    assert {task["limit"] for task in production["tasks"].values()} == {None}
    assert {task["limit"] for task in quick["tasks"].values()} == {1}
    for task in (*production["tasks"].values(), *quick["tasks"].values()):
        del task["limit"]
    assert quick == production


@pytest.mark.slow
@needs_lm_eval
def test_a_list_needs_no_documents(folder: Any) -> None:
    """The hub cannot be reached here: how many there are is not known."""
    command = "ckptbench run --eval-config=configs/base-vs-finetuned.json --list-benchmarks"
    output = folder.run(command).expect(0)
    assert re.search(r"mathematics +yes +gsm8k, math +\? +School", output), output
    assert "lm-eval cannot load drop" in output


def test_base_against_finetuned_asks_a_fifth_of_eighteen_tasks() -> None:
    content = json.loads(text_of("configs/base-vs-finetuned.json"))
    tasks = content["tasks"].values()
    assert {task["limit"] for task in tasks} == {0.2}
    names = [name for task in tasks for name in task["tasks"]]
    assert len(names) == len(set(names)) == 18
    assert {"drop", "winogrande", "gsm8k", "minerva_math"} < set(names)
    assert sum(name.startswith("mmlu_") for name in names) == STEM
    asked = {task for bench in content["benchmarks"].values() for task in bench["tasks"]}
    assert asked == set(content["tasks"])


@pytest.mark.slow
def test_a_quick_test_asks_one_sample_of_each(folder: Any) -> None:
    folder.run("ckptbench run --eval-config=configs/quick.json --checkpoint=demo-mlm --run-id=q")
    assert planned(folder, "q") == {"real": 1, "lambada": 1}


# docs/configuration.md


@pytest.mark.slow
def test_the_example_of_the_page_runs_what_is_switched_on(folder: Any) -> None:
    command = "ckptbench run --eval-config=eval.json --checkpoint=demo-mlm --run-id=edited"
    folder.run(command).expect(0)
    counts = planned(folder, "edited")
    assert counts["real"] == 20
    assert counts["lambada"] > 50
    assert set(counts) == {"real", "lambada"}


@pytest.mark.slow
def test_only_two_benchmarks(folder: Any) -> None:
    folder.run(f"{command_of(PAGES[0], 'two.yaml')} --run-id=two").expect(0)
    assert planned(folder, "two") == {"real": 5, "lambada": 5}


@pytest.mark.slow
def test_the_first_command_of_the_page_collects(folder: Any) -> None:
    command = command_of(PAGES[0], "demo-mlm --eval-config=eval_config")
    assert "::test_real_k[" in folder.run(f"{command} --collect-only -q").expect(0)


@pytest.mark.slow
@needs_lm_eval
@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("--list-benchmarks", r"korean +yes +real, lambada +\d+"),
        ("--validate-config", r"no mistakes"),
        ("--dry-run", r"demo-mlm +real/whole-word +1 +1 "),
    ],
)
def test_looking_before_asking(folder: Any, part: str, said: str) -> None:
    output = folder.run(command_of(PAGES[0], part)).expect(0)
    assert re.search(said, output), output


@pytest.mark.slow
def test_mistakes_are_told_as_the_page_shows(folder: Any) -> None:
    content = json.loads(files(PAGES[0])["eval.json"])
    content["benchmarks"]["korean"]["taks"] = content["benchmarks"]["korean"].pop("tasks")
    content["tasks"]["gsm8k"]["limit"] = 1.5
    (folder.path / "wrong").mkdir()
    (folder.path / "wrong/eval.json").write_text(json.dumps(content))
    done = folder.run("ckptbench run --eval-config=wrong/eval.json --validate-config")
    (shown,) = re.findall(r"^```text\n(eval.json: .*?)^```$", text_of(PAGES[0]), re.M | re.S)
    assert shown.removeprefix("eval.json") in done.expect(4)


# docs/lm-eval.md


@pytest.mark.slow
@needs_lm_eval
def test_a_task_of_ones_own(folder: Any) -> None:
    output = folder.run(command_of(PAGES[1], "--run-id=signs")).expect(0)
    assert re.search(r"signs acc,none +100\.00% +2 ", output), output
    again = folder.run(command_of(PAGES[1], "--baseline=")).expect(0)
    assert "inconclusive: signs acc,none is the same" in again, "two documents tell little"


@pytest.mark.slow
@needs_lm_eval
def test_production_asks_everything(folder: Any) -> None:
    """`limit: null` is the whole of a task, and beats a limit in the ini file."""
    (folder.path / "all.yaml").write_text(
        "benchmarks: {mine: {tasks: [signs]}}\ntasks: {signs: {limit: null}}\n"
    )
    command = "ckptbench run --checkpoint=demo-code --include-path=tasks -o ckpt_limit=1"
    folder.run(f"{command} --eval-config=all.yaml --run-id=all").expect(0)
    assert planned(folder, "all") == {"signs": 2}
