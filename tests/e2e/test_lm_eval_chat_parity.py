"""Chat templates, system instructions and settings of generating: the numbers of lm-eval."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
HELPERS = REPOSITORY / "tests/lm_eval_tasks"
NUMBERS = SimpleNamespace(**runpy.run_path(str(HELPERS / "numbers.py")))
SMALL = SimpleNamespace(**runpy.run_path(str(HELPERS / "small_tasks.py")))
CHAT = SimpleNamespace(**runpy.run_path(str(HELPERS / "chat.py")))
DEMO = REPOSITORY / "benchmarks/demo/demo-code"
TASKS = ("tiny_choices", "tiny_return", "tiny_text", "tiny_f1", "tiny_begun", "tiny_blank")
SYSTEM = "You write short functions."
# As in the parity of plain prompts, and the shares of the two tasks that only these tests have.
METRICS = 4 + 1 + 2 + 3 + 4 + 2 + 1

pytestmark = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    """A workspace with the tasks, and a checkpoint for each kind of chat template."""
    workspace = make_workspace(tmp_path_factory.mktemp("chat"))
    CHAT.write(SMALL.write(workspace.path / "tasks"))
    for kind in CHAT.TEMPLATES:
        CHAT.copied(DEMO, kind, workspace.path / "models")
    return workspace


@pytest.fixture(scope="module")
def theirs(place: Any) -> Callable[..., Mapping[str, Any]]:
    """What `simple_evaluate` returns for a checkpoint and the settings."""
    model = cache(lambda kind: NUMBERS.model(place.path / "models" / kind, 1))

    def evaluated(kind: str, **settings: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = NUMBERS.evaluated(
            model(kind), TASKS, place.path / "tasks", **settings
        )
        return found

    return evaluated


@pytest.fixture(scope="module")
def ours(place: Any) -> Callable[..., tuple[Path, str]]:
    """Runs the tasks and gives the run's folder and the command's output; the same run once."""

    @cache
    def run(kind: str, *options: str, status: int = 0) -> tuple[Path, str]:
        run_id = f"run-{len(list((place.path / 'results').glob('*')))}"
        output = place.run(
            f"pytest benchmarks/test_lm_eval.py --checkpoint=models/{kind} --dtype=fp32 "
            f"--no-resume --include-path=tasks --tasks={','.join(TASKS)} --run-id={run_id} "
            + " ".join(options)
        ).expect(status)
        return Path(place.path / "results" / run_id), " ".join(output.split())

    return run


def hashes(run: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in run.glob("*_results.json"):
        found |= json.loads(file.read_text()).get("task_hashes", {})
    return found


def identity(run: Path, task: str) -> Mapping[str, Any]:
    (found,) = (b["settings"] for b in RunFolder(run).benchmarks.values() if b["benchmark"] == task)
    return dict(found)


CASES: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "a template": ("turns", ("--apply-chat-template",), {"apply_chat_template": True}),
    "with a system and examples as turns": (
        "turns",
        (f"--system-instruction='{SYSTEM}'", "--num-fewshot=2", "--apply-chat-template"),
        {"apply_chat_template": True, "system_instruction": SYSTEM, "num_fewshot": 2},
    ),
    "with examples in one turn": (
        "turns",
        (
            "--apply-chat-template=true",
            f"--system-instruction='{SYSTEM}'",
            "--fewshot-as-multiturn=false",
            "--num-fewshot=2",
        ),
        {
            "apply_chat_template": True,
            "fewshot_as_multiturn": False,
            "system_instruction": SYSTEM,
            "num_fewshot": 2,
        },
    ),
    "a template that knows no system": (
        "no-system",
        ("--apply-chat-template", f"--system-instruction='{SYSTEM}'", "--fewshot-as-multiturn"),
        {"apply_chat_template": True, "system_instruction": SYSTEM},
    ),
    "one of several": (
        "several",
        ("--apply-chat-template=plain",),
        {"apply_chat_template": "plain"},
    ),
    "a system without a template": (
        "turns",
        (f"--system-instruction='{SYSTEM}'", "--num-fewshot=1"),
        {"system_instruction": SYSTEM, "num_fewshot": 1},
    ),
    "settings of generating": (
        "turns",
        ('--gen-kwargs=\'max_gen_toks=9,until=["+","\\n\\n"]\'', "--apply-chat-template"),
        {"gen_kwargs": {"max_gen_toks": 9, "until": ["+", "\n\n"]}, "apply_chat_template": True},
    ),
    "settings of generating that draw nothing": (
        "turns",
        ('--gen-kwargs=\'{"do_sample": false, "max_new_tokens": 6}\'',),
        {"gen_kwargs": {"do_sample": False, "max_new_tokens": 6}},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_number_is_lm_evals(ours: Any, theirs: Any, case: str) -> None:
    kind, options, settings = CASES[case]
    expected = theirs(kind, **settings)
    run, _ = ours(kind, *options)
    assert NUMBERS.assert_same_numbers(run, expected) == METRICS
    # The prompts are the same texts: what lm-eval's own files state as a task's hash is ours.
    assert hashes(run) == {task: hash_of(rows) for task, rows in expected["samples"].items()}


def hash_of(rows: Sequence[Mapping[str, str]]) -> str:
    """A task's hash, as lm-eval's `EvaluationTracker` makes it of the log."""
    from lm_eval.utils import hash_string

    parts = (row[part] for row in rows for part in ("doc_hash", "prompt_hash", "target_hash"))
    return str(hash_string("".join(parts)))


@pytest.mark.slow
def test_a_chat_is_asked_otherwise_and_the_result_says_so(ours: Any) -> None:
    plain, _ = ours("turns", "--num-fewshot=1")
    chat, _ = ours("turns", "--apply-chat-template", f"--system-instruction='{SYSTEM}'")
    assert identity(plain, "tiny_signs")["chat"] is False
    for task in ("tiny_signs", "tiny_return", "tiny_text"):
        asked = identity(chat, task)
        assert (asked["chat"], asked["fewshot_as_multiturn"]) == (True, True)
        assert asked["system_instruction"] == SYSTEM
    assert NUMBERS.scored(plain) != NUMBERS.scored(chat)


@pytest.mark.slow
def test_a_baseline_of_plain_prompts_is_not_compared_with_a_chat(ours: Any, place: Any) -> None:
    plain, _ = ours("turns")
    baseline = f"--baseline={plain}/turns_baseline.json"
    _, output = ours("turns", "--apply-chat-template", baseline, status=1)
    assert "chat template False in the baseline, True here" in output
    chat, output = ours(
        "turns", "--apply-chat-template", baseline, "--allow-mismatch=chat,fewshot-as-multiturn"
    )
    assert "allowed mismatch: chat template False in the baseline, True here" in output
    again = f"--baseline={chat}/turns_baseline.json"
    _, output = ours(
        "turns", "--apply-chat-template", f"--system-instruction='{SYSTEM}'", again, status=1
    )
    assert f"system instruction none in the baseline, {SYSTEM} here" in output


@pytest.mark.slow
def test_a_name_that_lm_eval_only_checks_is_told(ours: Any) -> None:
    """lm-eval 0.4.13 asks with the default template whatever the name, and so its numbers are."""
    _, output = ours("several", "--apply-chat-template=plain")
    assert "chat template: the tokenizer's default, not 'plain'" in output
    named, output = ours("no-default", "--apply-chat-template=plain")
    assert "chat template:" not in output
    alone, _ = ours("no-system", "--apply-chat-template")
    assert NUMBERS.scored(named) == NUMBERS.scored(alone)
    _, output = ours("several", "--apply-chat-template=lound", status=1)
    assert "no chat template 'lound' (did you mean 'loud'?)" in output


@pytest.mark.slow
def test_a_checkpoint_without_a_template_fails_by_name(ours: Any, place: Any) -> None:
    output = place.run(
        "pytest benchmarks/test_lm_eval.py --checkpoint=demo-code --include-path=tasks "
        "--tasks=tiny_signs --apply-chat-template"
    ).expect(1)
    assert "the tokenizer has no chat template: leave out --apply-chat-template" in output


def test_a_path_behind_the_option_is_not_taken_for_a_name(place: Any) -> None:
    output = place.run(
        "pytest --apply-chat-template benchmarks/test_lm_eval.py --checkpoint=demo-code "
        "--include-path=tasks --tasks=tiny_signs"
    ).expect(4)
    assert "write --apply-chat-template=true before a path" in output


@pytest.mark.slow
def test_what_nobody_can_obey_is_refused_before_anything_is_asked(place: Any) -> None:
    start = (
        "pytest benchmarks/test_lm_eval.py --checkpoint=demo-code --include-path=tasks "
        "--tasks=tiny_return "
    )
    for options, words, status in (
        ("--gen-kwargs=tempature=1", "unknown key 'tempature' (did you mean 'temperature'?)", 4),
        ("--gen-kwargs=top_k=40", "top_k is not supported by the engines here", 4),
        ("--gen-kwargs=do_sample=true", "tiny_return would draw at temperature 0", 4),
        ("--fewshot-as-multiturn", "add --apply-chat-template", 4),
        ("--model-args=dtype=float32", "dtype has an option of its own: --dtype", 4),
        ("--model-args=trust_remote_code=true", "would run code that comes with the weights", 4),
        ("--model-args=revision=main", "demo-code has no revisions", 4),
    ):
        output = place.run(start + options).expect(status)
        assert words in " ".join(output.split())
        assert "passed" not in output


@pytest.mark.slow
def test_drawn_answers_are_of_the_given_temperature(ours: Any) -> None:
    run, _ = ours("turns", "--gen-kwargs=temperature=0.6,top_p=0.95,do_sample=true,max_gen_toks=12")
    asked = identity(run, "tiny_return")
    assert (asked["temperature"], asked["top_p"], asked["max_tokens"]) == (0.6, 0.95, 12)
    greedy, _ = ours("turns")
    assert identity(greedy, "tiny_return")["temperature"] == 0


@pytest.mark.slow
def test_another_attention_is_shown_and_changes_little(ours: Any) -> None:
    run, _ = ours("turns", "--model-args=attn_implementation=eager")
    assert RunFolder(run).checkpoint["settings"]["attn_implementation"] == "eager"
    plain, _ = ours("turns")
    for metric, (value, _) in NUMBERS.scored(plain).items():
        if "perplexity" not in metric:
            assert NUMBERS.scored(run)[metric][0] == pytest.approx(value, abs=0.01), metric
