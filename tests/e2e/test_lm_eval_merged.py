"""Merged and watched runs of lm-eval's tasks have the files that one session writes."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
SMALL = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/small_tasks.py")))
# `tiny_choices` is a group of two; of `tiny_text`, only lm-eval makes any number.
ASKED = "--dtype=fp32 --include-path=tasks --tasks=tiny_choices,tiny_text"
FILES = ("tiny_choices", "tiny_numbers", "tiny_signs", "tiny_text")
OURS = ("config", "date", "model_name", "total_evaluation_time_seconds", "ckptbench")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
    ),
]


@pytest.fixture(scope="module")
def tasks_workspace(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    """A workspace with the small tasks, and the folder of a trainer that saved one checkpoint."""
    workspace = make_workspace(tmp_path_factory.mktemp("merged"))
    SMALL.write(workspace.path / "tasks")
    demo = workspace.path / "benchmarks/demo/demo-code"
    shutil.copytree(demo, workspace.path / "runs/x/checkpoint-7")
    return workspace


@pytest.fixture(scope="module")
def session(tasks_workspace: Any) -> Path:
    """The folder of a run that one session made."""
    return asked(tasks_workspace, "session")


@pytest.fixture(scope="module")
def watched(tasks_workspace: Any) -> Path:
    """The folder of a watched run."""
    tasks_workspace.run(
        "ckptbench watch runs/x --once --settle=0 --run-id=watched "
        f"-- benchmarks/test_lm_eval.py {ASKED}"
    ).expect(0)
    return Path(tasks_workspace.path / "results/watched")


def asked(workspace: Any, run_id: str, options: str = "") -> Path:
    workspace.run(
        "pytest benchmarks/test_lm_eval.py --checkpoint=demo-code --no-resume "
        f"{ASKED} --run-id={run_id} {options}"
    ).expect(0)
    return Path(workspace.path / "results" / run_id)


def lm_evals(folder: Path, prefix: str = "") -> dict[str, Any]:
    """What a run's result files hold of lm-eval's, by task and group."""
    found = {}
    for name in FILES:
        content = json.loads((folder / f"{prefix}{name}_results.json").read_text())
        found[name] = {part: value for part, value in content.items() if part not in OURS}
    return found


def test_a_session_leaves_what_the_others_are_compared_with(session: Path) -> None:
    found = lm_evals(session)
    assert set(found["tiny_choices"]["groups"]) == {"tiny_choices"}
    assert found["tiny_text"]["results"]["tiny_text"]["byte_perplexity,none"] > 1
    assert found["tiny_signs"]["versions"] == {"tiny_signs": 1.5}


def test_a_watched_run_has_lm_evals_files(session: Path, watched: Path) -> None:
    assert lm_evals(watched) == lm_evals(session)
    assert RunFolder(watched).values == RunFolder(session).values


def test_a_merge_of_two_checkpoints_has_lm_evals_files_of_both(
    tasks_workspace: Any, session: Path, watched: Path
) -> None:
    part = watched / "parts/checkpoint-7"
    output = tasks_workspace.run(f"ckptbench merge {session} {part} -o results/both").expect(0)
    assert "left out" not in output
    both = tasks_workspace.path / "results/both"
    assert lm_evals(both, "demo-code_") == lm_evals(session)
    assert lm_evals(both, "checkpoint-7_") == lm_evals(session)


def test_a_checkpoint_in_pieces_gets_lm_evals_numbers_without_being_asked_again(
    tasks_workspace: Any, session: Path
) -> None:
    first = asked(tasks_workspace, "first", "-k 'signs or (text and 0)'")
    rest = asked(tasks_workspace, "rest", "-k 'not (signs or (text and 0))'")
    # In a folder of its own, where no other run has answers that it could take.
    pieces = tasks_workspace.path / "merged/pieces"
    output = tasks_workspace.run(f"ckptbench merge {first} {rest} -o merged/pieces").expect(0)
    expected, found = RunFolder(session).values, RunFolder(pieces).values
    whole = {metric for metric in expected if re.match("tiny_(signs|numbers)", metric)}
    # Bits per byte are a mean over the documents that there are; lm-eval's perplexities are not.
    assert found.keys() - whole == {"tiny_text gold_bits_per_byte,none"}
    assert {m: found[m] for m in whole} == {m: expected[m] for m in whole}
    assert not (pieces / "tiny_choices_results.json").exists()
    (command,) = re.findall("until `(pytest [^`]+)` makes them", output)
    output = tasks_workspace.run(command).expect(0)
    assert " 0 answers computed" in output
    assert lm_evals(pieces) == lm_evals(session)
    assert RunFolder(pieces).values == RunFolder(session).values
    assert "left out" not in (pieces / "summary.json").read_text()
