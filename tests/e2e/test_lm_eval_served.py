"""lm-eval's tasks asked of a served model: the local engine's numbers, or none at all."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "benchmarks/demo/demo-code"
NUMBERS = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/numbers.py")))
SMALL = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/small_tasks.py")))
CHOICES, RETURN, TEXT, F1 = TASKS = ("tiny_choices", "tiny_return", "tiny_text", "tiny_f1")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
    ),
]


@pytest.fixture
def serve(serve: Callable[..., Any]) -> Callable[..., Any]:
    """Starts a server with two tokens more than the model is asked for (`--seq-len=512`)."""
    return lambda lacks=frozenset(), **more: serve(lacks, **{"positions": 514, **more})


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Callable[..., Any]:
    """Asks the small tasks of a checkpoint: the run's folder and the command's output."""
    workspace = make_workspace(tmp_path_factory.mktemp("served"))
    SMALL.write(workspace.path / "tasks")

    def run(
        run_id: str, checkpoint: Any, *options: str, tasks: tuple[str, ...] = TASKS, status: int = 0
    ) -> tuple[Path, str]:
        output = workspace.run(
            f"pytest benchmarks/test_lm_eval.py --checkpoint={checkpoint} --include-path=tasks "
            f"--tasks={','.join(tasks)} --run-id={run_id} {' '.join(options)}"
        ).expect(status)
        assert "Traceback" not in output
        return Path(workspace.path / "results" / run_id), output

    return run


@pytest.fixture(scope="module")
def here(asked: Any) -> Callable[..., dict[str, tuple[float, float | None]]]:
    """Each score of the local engine and its standard error, which are lm-eval's own."""

    @cache
    def scores(seq_len: int) -> dict[str, tuple[float, float | None]]:
        options = ("--dtype=fp32", f"--seq-len={seq_len}")
        run, _ = asked(f"here-{seq_len}", "demo-code", *options)
        found: dict[str, tuple[float, float | None]] = NUMBERS.scored(run)
        # lm-eval's own, and the bits per byte of the right answer of three tasks.
        assert len(found) == 4 + 1 + 2 + 3 + 4 + 3
        return found

    return scores


def of(scores: dict[str, Any], *begins: str) -> dict[str, Any]:
    """The scores of some tasks."""
    return {name: score for name, score in scores.items() if name.startswith(begins)}


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """See that all scores and standard errors are there and the same.

    Sums of log probabilities are rounded otherwise. They are compared as sums: what a word's
    perplexity of 3e14 makes of its exponent's last digit is no difference of models.
    """
    assert found.keys() == wanted.keys() != set()
    for name, (value, error) in wanted.items():
        if name.endswith("gold_bits_per_byte,none"):
            # Rounded, so alike but for documents at the edge between two values.
            assert found[name] == (pytest.approx(value, abs=1e-3), pytest.approx(error, abs=1e-3))
        elif name.startswith(f"{TEXT} "):
            assert (found[name][1], error) == (None, None)
            assert log_sum(name, found[name][0]) == pytest.approx(log_sum(name, value), rel=1e-7)
        else:
            assert found[name] == (value, error), name


def log_sum(name: str, value: float) -> float:
    """The mean log probability that a perplexity or a number of bits was made of."""
    return value if "bits" in name else log(value)


def test_a_server_gives_every_number_of_the_local_engine(asked: Any, serve: Any, here: Any) -> None:
    run, output = asked("there", serve().url, f"--tokenizer={DEMO}", "--seq-len=512")
    assert_same(NUMBERS.scored(run), here(512))
    assert "tokens at a time" not in output


def test_a_server_that_holds_less_than_the_model_reads_is_told_and_has_its_equal_here(
    asked: Any, serve: Any, here: Any
) -> None:
    run, output = asked("tight", serve(positions=512).url, f"--tokenizer={DEMO}")
    assert_same(NUMBERS.scored(run), here(510))
    assert of(here(510), TEXT) != of(here(512), TEXT)
    told = " ".join(output.split())
    assert "were scored 510 tokens at a time" in told
    assert "--seq-len=510" in told


TROUBLE = {1: "429", 4: "500", 5: "500", 9: "cut", 11: "reset", 14: "503", 16: "webpage"}


@pytest.mark.parametrize("lacks", [set(), {"prompt_logprobs"}], ids=["prompt_logprobs", "echo"])
def test_trouble_that_passes_changes_no_number(
    asked: Any, serve: Any, here: Any, lacks: set[str]
) -> None:
    server = serve(lacks, fault=lambda number: TROUBLE.get(number, ""))
    name = "-".join(["trouble", *lacks])
    options = (f"--tokenizer={DEMO}", "--seq-len=512")
    run, _ = asked(name, server.url, *options, tasks=(CHOICES, TEXT))
    assert_same(NUMBERS.scored(run), of(here(512), CHOICES, "tiny_signs", "tiny_numbers", TEXT))
    assert server.asked > len(TROUBLE) + max(TROUBLE)


def test_trouble_that_stays_is_an_error_and_never_a_lower_score(
    asked: Any, serve: Any, here: Any
) -> None:
    """What was answered all the same is right, document by document."""
    faults = {7: "half", 13: "null-value", 17: "null"}
    server = serve(fault=lambda number: faults.get(number % 25, ""))
    options = (f"--tokenizer={DEMO}", "--seq-len=512")
    run, output = asked("stays", server.url, *options, tasks=(CHOICES, TEXT), status=1)
    told = " ".join(output.split())
    assert "the server gave 0 of 1 answers" in told
    assert "no log probability for token" in told
    assert "incomplete" in output
    here(512)
    wanted, found = documents(run.parent / "here-512"), documents(run)
    errors = {item for item, (status, _) in found.items() if status == "error"}
    assert 0 < len(errors) < len(found)
    for item in sorted(found.keys() - errors):
        status, values = wanted[item]
        assert found[item] == (status, pytest.approx(values)), item
    # A group of which a document is missing has no score.
    assert not of(NUMBERS.scored(run), f"{CHOICES} ")


def documents(run: Path) -> dict[str, tuple[str, Any]]:
    """`(status, values)` of each document of a run."""
    return {row["id"]: (row["status"], row["values"]) for row in RunFolder(run).samples()}


def test_without_a_copy_of_the_tokenizer_whole_texts_are_named_and_the_rest_is_the_same(
    asked: Any, serve: Any, here: Any
) -> None:
    run, output = asked("without", serve().url, status=1)
    measured = (CHOICES, "tiny_signs", "tiny_numbers", RETURN, F1)
    assert_same(of(NUMBERS.scored(run), *measured), of(here(512), *measured))
    assert {status for id, (status, _) in documents(run).items() if id.startswith(TEXT)} == {
        "error"
    }
    assert "takes a copy of the tokenizer (--tokenizer)" in " ".join(output.split())


@pytest.mark.skipif(
    not os.environ.get("CKPTBENCH_VLLM"),
    reason="CKPTBENCH_VLLM is not set: see tests/extended/servers.sh",
)
def test_vllm_gives_every_number_of_the_local_engine(asked: Any) -> None:
    """Sums come from kernels of another kind, and differ by more than two shapes of batches do."""
    checkpoint = Path(os.environ["CKPTBENCH_SERVED"]).resolve()
    local, _ = asked("vllm-here", checkpoint, "--dtype=fp32", "--seq-len=512")
    address = os.environ["CKPTBENCH_VLLM"]
    served, _ = asked("vllm-there", address, f"--tokenizer={checkpoint}", "--seq-len=512")
    wanted, found = NUMBERS.scored(local), NUMBERS.scored(served)
    assert found.keys() == wanted.keys() != set()
    for name, (value, error) in wanted.items():
        if name.startswith(f"{TEXT} "):
            value = pytest.approx(value, rel=1e-4)
        assert found[name] == (value, error), name


CHAT = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/chat.py")))


def test_a_chat_is_written_by_the_copy_of_the_tokenizer(
    asked: Any, serve: Any, tmp_path: Path
) -> None:
    """Likelihoods take a copy of the tokenizer; with one they are the local engine's."""
    model = CHAT.copied(DEMO, "turns", tmp_path)
    options = ("--apply-chat-template", "--seq-len=512")
    tasks = (CHOICES,)
    local, _ = asked("chat-here", model, *options, "--dtype=fp32", tasks=tasks)
    server = serve()
    there, _ = asked("chat-there", server.url, *options, f"--tokenizer={model}", tasks=tasks)
    assert_same(NUMBERS.scored(there), NUMBERS.scored(local))
    _, output = asked("chat-blind", server.url, *options, tasks=tasks, status=1)
    told = " ".join(output.split())
    assert "applies no template to that" in told
    assert "a copy of the tokenizer writes the chat here (--tokenizer=DIR)" in told
