"""The demo code model: small, sound, and neither hopeless nor perfect on the shipped problems."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import ckptbench.benchmarks
from ckptbench.api.protocol import RequestContext
from ckptbench.api.requests import Generate, Generated
from ckptbench.api.sample import Sample
from ckptbench.benchmarks.demo import programs, train_demo_code
from ckptbench.fixtures.datasets.code import humaneval
from ckptbench.fixtures.datasets.code.humaneval import STRIP_NEWLINE
from ckptbench.fixtures.sandbox import Sandbox

FOLDER = Path(next(iter(ckptbench.benchmarks.__path__))) / "demo" / "demo-code"


@cache
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(FOLDER)


@cache
def model() -> Any:
    return AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 4_000_000
    assert sum(parameter.numel() for parameter in model().parameters()) < 2_000_000


def test_its_weights_are_fp16_and_finite() -> None:
    assert AutoModelForCausalLM.from_pretrained(FOLDER, dtype="auto").dtype == torch.float16
    assert all(bool(parameter.isfinite().all()) for parameter in model().parameters())


def test_the_tokenizer_puts_one_bos_in_front_and_gives_text_back() -> None:
    text = "def f(x):\n    return x  # 'ö'\n"
    ids = tokenizer()(text)["input_ids"]
    assert ids.count(train_demo_code.BOS_ID) == 1
    assert ids[0] == tokenizer().bos_token_id == train_demo_code.BOS_ID
    assert tokenizer().eos_token_id == train_demo_code.EOS_ID
    assert tokenizer().decode(ids, skip_special_tokens=True) == text


def test_the_batches_teach_bodies_only() -> None:
    plan = train_demo_code.Plan(programs=64, mistakes=0.0, ending_in_line_feed=0.0)
    made = train_demo_code.training_programs(plan)
    words = train_demo_code.make_tokenizer(plan, [program.text for program in made])
    for program, text in zip(made, train_demo_code.encode(words, made, plan), strict=True):
        assert words.decode(text.ids[: text.start]) == f"<s>{program.prompt.rstrip()}"
        assert words.decode(text.ids[text.start :]) == f"\n{program.code}</s>"


@pytest.mark.sandbox
def test_programs_do_what_their_examples_say() -> None:
    made = programs.programs(seed=99)
    for program in (next(made) for _ in range(300)):
        scope: dict[str, Any] = {}
        exec(program.text, scope)
        lines = program.prompt.splitlines()
        for call, result in itertools.pairwise(lines):
            if call.startswith("    >>> "):
                assert repr(eval(call.removeprefix("    >>> "), scope)) == result.strip()


def answers(problem: Sample, trials: int) -> list[Generated]:
    """What the model writes at temperature 0.8, cut at the protocol's stop strings."""
    request = STRIP_NEWLINE.protocol.ask(problem, RequestContext(temperature=0.8))
    assert isinstance(request, Generate)
    torch.manual_seed(request.seed % 2**32)
    asked = tokenizer()(request.prompt, return_tensors="pt")
    written = model().generate(
        input_ids=asked["input_ids"],
        attention_mask=asked["attention_mask"],
        do_sample=True,
        temperature=request.temperature,
        top_k=0,
        num_return_sequences=trials,
        max_new_tokens=64,
        pad_token_id=train_demo_code.PAD_ID,
    )
    start = asked["input_ids"].shape[1]
    found = []
    for row in written:
        text = tokenizer().decode(row[start:], skip_special_tokens=True)
        for stop in request.stop:
            text = text.partition(stop)[0]
        found.append(Generated(text, len(row) - start, "stop"))
    return found


@pytest.fixture(scope="module")
def correct() -> dict[str, int]:
    """How many of 8 answers to each problem pass."""
    execute = STRIP_NEWLINE.protocol.execute
    assert execute is not None
    tasks = [
        (problem.id, execute(problem, answer, trial))
        for problem in humaneval.demo()
        for trial, answer in enumerate(answers(problem, 8))
    ]
    owner = {task.id: name for name, task in tasks}
    counts = dict.fromkeys(owner.values(), 0)
    with Sandbox() as sandbox:
        for name, verdict in sandbox.judge([task for _, task in tasks]):
            counts[owner[name]] += verdict.passed
    return counts


@pytest.mark.slow
def test_it_solves_some_problems_always_or_often_and_some_never(correct: dict[str, int]) -> None:
    share = sum(correct.values()) / (8 * len(correct))
    assert 0.15 <= share <= 0.7
    assert min(correct.values()) == 0
    assert max(correct.values()) >= 6


def test_trials_of_a_problem_differ(correct: dict[str, int]) -> None:
    assert sum(0 < count < 8 for count in correct.values()) >= 5
