"""The numbers of lm-eval's tasks are lm-eval's: `simple_evaluate` on the same model says so."""

from __future__ import annotations

import json
import math
import runpy
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
NUMBERS = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/numbers.py")))
SMALL = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/small_tasks.py")))
TASKS = ("tiny_choices", "tiny_return", "tiny_text", "tiny_f1")
GROUPS = {"tiny_choices": ("tiny_signs", "tiny_numbers")}

pytestmark = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)


@pytest.fixture(scope="module")
def lm_eval_workspace(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    """A workspace whose folder `tasks` holds the small tasks."""
    workspace = make_workspace(tmp_path_factory.mktemp("parity"))
    SMALL.write(workspace.path / "tasks")
    return workspace


@pytest.fixture(scope="module")
def theirs(lm_eval_workspace: Any) -> Callable[..., Mapping[str, Any]]:
    """What `simple_evaluate` returns for the small tasks."""
    demo = REPOSITORY / "benchmarks/demo/demo-code"
    model = cache(lambda batch_size: NUMBERS.model(demo, batch_size))
    folder = lm_eval_workspace.path / "tasks"
    return cache(
        lambda batch_size, **settings: NUMBERS.evaluated(
            model(batch_size), TASKS, folder, **settings
        )
    )


@pytest.fixture(scope="module")
def ours(lm_eval_workspace: Any) -> Callable[..., Path]:
    """Runs the small tasks and gives the run's folder."""

    @cache
    def run(run_id: str, options: str = "") -> Path:
        lm_eval_workspace.run(
            "pytest benchmarks/test_lm_eval.py --checkpoint=demo-code --dtype=fp32 --no-resume "
            f"--include-path=tasks --tasks={','.join(TASKS)} --run-id={run_id} {options}"
        ).expect(0)
        return Path(lm_eval_workspace.path / "results" / run_id)

    return run


def assert_same_numbers(run: Path, expected: Mapping[str, Any]) -> None:
    # acc and acc_norm of two tasks and acc of their group, two filters, three sums, and of the
    # graded task its three metrics and the one that its list does not name.
    assert NUMBERS.assert_same_numbers(run, expected) == 4 + 1 + 2 + 3 + 4


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 16])
def test_every_number_is_lm_evals(ours: Any, theirs: Any, batch_size: int) -> None:
    assert_same_numbers(ours("as-it-likes"), theirs(batch_size))


@pytest.mark.slow
def test_sharing_nothing_gives_the_same(ours: Any, theirs: Any) -> None:
    run = ours("exact", "--exact")
    assert_same_numbers(run, theirs(1))


@pytest.mark.slow
def test_one_request_at_a_time_gives_the_same(ours: Any, theirs: Any) -> None:
    assert_same_numbers(ours("one", "--batch-size=1"), theirs(1))


@pytest.mark.slow
def test_a_share_of_the_documents_and_other_examples(ours: Any, theirs: Any) -> None:
    """0.2 of 11 documents are 3: lm-eval rounds up. The task that asks for no example gets none."""
    run = ours("share", "--limit=0.2 --num-fewshot=1")
    expected = theirs(16, limit=0.2, num_fewshot=1)
    assert_same_numbers(run, expected)
    counts = {
        task: json.loads((run / f"{task}_results.json").read_text())["n-samples"][task]
        for task in ("tiny_signs", "tiny_numbers", "tiny_return", "tiny_text", "tiny_f1")
    }
    assert counts == expected["n-samples"]
    assert counts["tiny_signs"] == {"original": 11, "effective": 3}
    shots = {
        task: json.loads((run / f"{task}_results.json").read_text())["n-shot"][task]
        for task in counts
    }
    assert shots == {task: expected["n-shot"][task] for task in counts}
    assert shots["tiny_return"] == 0
    assert shots["tiny_signs"] == 1


@pytest.mark.slow
def test_bits_per_byte_are_of_the_likelihoods_that_lm_eval_logs(ours: Any, theirs: Any) -> None:
    """The choice that is right, and the whole text; lm-eval's own numbers know nothing of them.

    Ours are rounded to 0.01 nats a token.
    """
    run, logged = ours("as-it-likes"), theirs(1)["samples"]
    scores = NUMBERS.scored(run)
    for task in ("tiny_signs", "tiny_numbers"):
        bits = []
        for document in logged[task]:
            gold = int(document["target"])
            continuation = document["arguments"][gold][1]
            logprob = document["resps"][gold][0][0]
            bits.append(-logprob / math.log(2) / len(continuation.encode()))
        found = scores[f"{task} gold_bits_per_byte,none"][0]
        assert found == pytest.approx(sum(bits) / len(bits), abs=0.005)
    texts = [
        -document["resps"][0][0] / math.log(2) / len(document["arguments"][0][0].encode())
        for document in logged["tiny_text"]
    ]
    found = scores["tiny_text gold_bits_per_byte,none"][0]
    assert found == pytest.approx(sum(texts) / len(texts), abs=0.005)
    assert "tiny_return gold_bits_per_byte,none" not in scores
    assert all("gold" not in key for values in NUMBERS.stated(run).values() for key in values)


@pytest.mark.slow
def test_the_demo_gets_some_right_and_some_wrong(ours: Any) -> None:
    """Otherwise the comparisons above would say little."""
    shares = {
        metric: value
        for metric, (value, error) in NUMBERS.scored(ours("as-it-likes")).items()
        if error is not None and not metric.endswith(("said,none", "gold_bits_per_byte,none"))
    }
    assert len(shares) == 10
    assert all(0 < value < 1 for value in shares.values()), shares


def together(run: Path, parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of our files that lm-eval's file of the whole run has, in its order."""
    held = [json.loads(file.read_text()) for file in run.glob("tiny_*_results.json")]
    joined: dict[str, Any] = {}
    for part in ("results", "groups", "group_subtasks", "versions", "n-shot", "higher_is_better"):
        found = {name: value for each in held for name, value in each.get(part, {}).items()}
        joined[part] = {name: found[name] for name in parts[part]}
    return joined


@pytest.mark.slow
def test_lm_evals_own_tables_show_the_files_as_its_own(ours: Any, theirs: Any) -> None:
    from lm_eval.utils import make_table

    expected = theirs(1)
    joined = together(ours("as-it-likes"), expected)
    for part in ("results", "groups"):
        assert make_table(joined, part) == make_table(expected, part)


@pytest.mark.slow
def test_the_file_of_a_group_holds_its_tasks(ours: Any) -> None:
    content = json.loads((ours("as-it-likes") / "tiny_choices_results.json").read_text())
    for part in ("configs", "versions", "n-shot", "higher_is_better", "n-samples"):
        assert content[part].keys() >= set(GROUPS["tiny_choices"])
    assert content["group_subtasks"]["tiny_choices"] == list(GROUPS["tiny_choices"])


@pytest.mark.slow
def test_a_run_is_compared_with_a_file_of_lm_evals(
    ours: Any, theirs: Any, lm_eval_workspace: Any
) -> None:
    from lm_eval.utils import handle_non_serializable

    own = {part: content for part, content in theirs(1).items() if part != "samples"}
    file = lm_eval_workspace.path / "results_2026-01-01T00-00-00.000000.json"
    file.write_text(json.dumps(own, default=handle_non_serializable))
    alone = ours("as-it-likes") / "tiny_return_results.json"
    for after, options in ((ours("as-it-likes"), ""), (alone, " --common")):
        output = lm_eval_workspace.run(f"ckptbench compare {file} {after}{options}").expect(0)
        (line,) = [
            line
            for line in output.splitlines()
            if line.startswith("  tiny_return exact_match,strict-match")
        ]
        assert line.split().count("27.27%") == 2
        assert line.endswith("inconclusive"), "eleven documents tell little"
        assert "tiny_return/v2.0-0-shot" in output


@pytest.mark.slow
def test_a_metric_of_some_documents_is_shown_and_stops_no_run(
    ours: Any, lm_eval_workspace: Any
) -> None:
    """lm-eval takes the mean over those that have it; the gate does not judge it."""
    run = ours("as-it-likes")
    again = "--tasks=tiny_f1 --include-path=tasks --dtype=fp32 --checkpoint=demo-code"
    output = lm_eval_workspace.run(
        f"pytest benchmarks/test_lm_eval.py {again} --baseline={run}/demo-code_baseline.json"
    ).expect(0)
    assert "of the 5 of 9 samples that have one; not gated" in " ".join(output.split())
    compared = lm_eval_workspace.run(f"ckptbench compare {run} {run}").expect(0)
    assert "tiny_f1 f1,none" in compared
    assert "incomplete" not in output + compared


@pytest.mark.slow
def test_the_result_says_which_task_it_was(ours: Any, theirs: Any) -> None:
    expected = theirs(1)
    run = ours("as-it-likes")
    for task in ("tiny_signs", "tiny_numbers", "tiny_return", "tiny_f1", "tiny_text"):
        content = json.loads((run / f"{task}_results.json").read_text())
        assert content["versions"][task] == expected["versions"][task]
        assert content["task_hashes"][task]
    assert "tiny_numbers/v1.5-2-shot" in RunFolder(run).benchmarks
