"""How problems are put, to the character, and how answers become programs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.protocol import RequestContext
from ckptbench.api.requests import Generate, Generated
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets.code import (
    codecontests,
    humaneval,
    mbpp,
)
from ckptbench.fixtures.datasets.code.protocols import (
    IMPORTS,
    CodeProtocol,
    find,
    trial_seed,
    with_preamble,
)
from ckptbench.fixtures.sandbox.tasks import FunctionTask, StdioTask

FUNCTION = Sample(
    "Demo/0",
    {
        "prompt": '\n\ndef area(a, b):\n    """Return a times b."""\n',
        "entry_point": "area",
        "canonical_solution": "    return a * b\n",
        "test": "def check(candidate):\n    assert candidate(2, 3) == 6\n",
    },
)
ADD = "def add(a, b):\n  return a + b"
HALF = "def half(a):\n  return a // 2"
TASK = Sample(
    "MBPP/11",
    {
        "text": "Write a function to find the area of a rectangle.",
        "code": "def area(a, b):\n  return a * b",
        "entry_point": "area",
        "test_list": ["assert area(2, 3) == 6", "assert area(1, 1) == 1"],
        "test_setup_code": "import math",
        "shots": [
            [
                "Write a function to add.",
                ["assert add(1, 2) == 3"],
                "def add(a, b):\n  return a + b",
            ],
            ["Write a function to negate.", ["assert neg(1) == -1"], "def neg(a):\n  return -a"],
            [
                "Write a function to halve.",
                ["assert half(4) == 2"],
                "def half(a):\n  return a // 2",
            ],
        ],
    },
)
CONTEST = Sample(
    "CodeContests/a_sum",
    {
        "name": "A. Sum",
        "description": "Add two numbers.\n\nInput\n\nTwo numbers.",
        "tests": [["1 2\n", "3\n"]],
        "tests_available": 1,
    },
)
ALL: Mapping[str, CodeProtocol] = {
    **humaneval.CODE_PROTOCOLS,
    **mbpp.CODE_PROTOCOLS,
    **codecontests.CODE_PROTOCOLS,
}
SAMPLES = {"humaneval": FUNCTION, "mbpp": TASK, "codecontests": CONTEST}


def asked(name: str, asking: RequestContext | None = None) -> Generate:
    request = ALL[name].protocol.ask(SAMPLES[name.partition("/")[0]], asking or RequestContext())
    assert isinstance(request, Generate)
    return request


def program(name: str, answer: str) -> str:
    return ALL[name].make_program(SAMPLES[name.partition("/")[0]], answer)


PROMPTS = {
    "humaneval/raw": '\n\ndef area(a, b):\n    """Return a times b."""\n',
    "humaneval/strip-newline": 'def area(a, b):\n    """Return a times b."""',
    "humaneval/chat": '''\
Please provide a self-contained Python script that solves the following problem in a markdown \
code block:
```python
def area(a, b):
    """Return a times b."""
```
''',
    "mbpp/few-shot-3": """\
You are an expert Python programmer, and here is your task: Write a function to add. \
Your code should pass these tests:

assert add(1, 2) == 3
[BEGIN]
def add(a, b):
  return a + b
[DONE]

You are an expert Python programmer, and here is your task: Write a function to negate. \
Your code should pass these tests:

assert neg(1) == -1
[BEGIN]
def neg(a):
  return -a
[DONE]

You are an expert Python programmer, and here is your task: Write a function to halve. \
Your code should pass these tests:

assert half(4) == 2
[BEGIN]
def half(a):
  return a // 2
[DONE]

You are an expert Python programmer, and here is your task: \
Write a function to find the area of a rectangle. Your code should pass these tests:

assert area(2, 3) == 6
assert area(1, 1) == 1
[BEGIN]
""",
    "mbpp/evalplus": '''\
"""
Write a function to find the area of a rectangle.
assert area(2, 3) == 6
"""
''',
    "mbpp/alpaca": """\
Below is an instruction that describes a task. Write a response that appropriately completes the \
request.

### Instruction:
Write a function to find the area of a rectangle.
Your code should pass these tests:

assert area(2, 3) == 6
assert area(1, 1) == 1

### Response:
""",
    "codecontests/alpaca": """\
Below is an instruction that describes a task. Write a response that appropriately completes the \
request.

### Instruction:
Write a Python 3 program that solves the following problem. It reads the input from standard \
input and prints the answer to standard output.

Add two numbers.

Input

Two numbers.

### Response:
""",
}
STOPS = {
    "humaneval/raw": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"),
    "humaneval/strip-newline": (
        *("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>"),
    ),
    "humaneval/chat": (),
    "mbpp/few-shot-3": ("[DONE]",),
    "mbpp/evalplus": (
        *('\n"""', "\nassert", "\nif __name__", "\ndef main(", "\nprint("),
        *("<|endoftext|>", "<|endofmask|>", "</s>"),
    ),
    "mbpp/alpaca": ("\n### Instruction", "\n### Response"),
    "codecontests/alpaca": ("\n### Instruction", "\n### Response"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_the_prompt_to_the_character(name: str) -> None:
    assert asked(name).prompt == PROMPTS[name]


@pytest.mark.parametrize("name", STOPS)
def test_the_stop_strings(name: str) -> None:
    assert asked(name).stop == STOPS[name]


def test_only_the_chat_protocol_goes_through_the_chat_template() -> None:
    assert {name for name in PROMPTS if asked(name).chat} == {"humaneval/chat"}


def test_the_variants_with_imports_ask_the_same() -> None:
    variants = [name for name in ALL if name.endswith("-imports")]
    assert variants
    for name in variants:
        assert asked(name) == asked(name.removesuffix("-imports"))
    compared = {"codecontests/alpaca-tokens", "codecontests/alpaca-strip"}
    assert set(PROMPTS) == set(ALL) - set(variants) - compared


def test_the_variants_with_another_comparison_ask_the_same() -> None:
    for compare in ("tokens", "strip"):
        assert asked(f"codecontests/alpaca-{compare}") == asked("codecontests/alpaca")


def test_the_default_strips_the_prompt() -> None:
    assert humaneval.PROTOCOLS[0].name == "humaneval/strip-newline"


def test_sampling_is_what_the_session_decided() -> None:
    request = asked("humaneval/raw", RequestContext(temperature=0.8, top_p=0.95, max_tokens=99))
    assert (request.temperature, request.top_p, request.max_tokens) == (0.8, 0.95, 99)


def test_each_trial_of_each_sample_has_a_seed_of_its_own() -> None:
    seeds = {
        ALL[name].protocol.ask(sample, RequestContext(trial=trial, seed=seed)).seed  # type: ignore[union-attr]
        for name, sample in (("humaneval/raw", FUNCTION), ("mbpp/alpaca", TASK))
        for trial in range(20)
        for seed in range(3)
    }
    assert len(seeds) == 2 * 20 * 3
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_a_seed_depends_on_nothing_else() -> None:
    assert trial_seed(0, FUNCTION.hash, 3) == trial_seed(0, FUNCTION.hash, 3)
    assert trial_seed(1, "2", 34) != trial_seed(12, "", 34)
    assert asked("humaneval/raw", RequestContext(top=5)).seed == asked("humaneval/raw").seed


@pytest.mark.parametrize("name", ["humaneval/raw", "humaneval/strip-newline"])
def test_a_completion_goes_on_where_the_prompt_ends(name: str) -> None:
    assert program(name, "\n    return a * b") == asked(name).prompt + "\n    return a * b"


def test_a_reply_is_defined_after_what_the_prompt_supplies() -> None:
    reply = "Here:\n```python\ndef area(a, b):\n    return a * b\n\nprint(area(1, 2))\n```"
    prompt = FUNCTION["prompt"]
    assert program("humaneval/chat", reply) == f"{prompt}\ndef area(a, b):\n    return a * b\n"


def test_a_reply_with_the_body_alone_completes_the_prompt() -> None:
    reply = "```python\n    return a * b\n```"
    assert program("humaneval/chat", reply) == FUNCTION["prompt"] + "    return a * b\n"


def test_a_few_shot_answer_is_taken_as_it_is() -> None:
    answer = "def area(a, b):\n  return a * b\n"
    assert program("mbpp/few-shot-3", answer) == answer


@pytest.mark.parametrize("name", ["mbpp/evalplus", "mbpp/alpaca"])
def test_definitions_are_taken_out_of_other_answers(name: str) -> None:
    answer = "```python\ndef area(a, b):\n  return a * b\nassert area(1, 1) == 2\n```"
    assert program(name, answer) == "def area(a, b):\n  return a * b\n"


def test_a_contest_program_stays_whole() -> None:
    answer = "```python\nprint(sum(map(int, input().split())))\n```"
    assert program("codecontests/alpaca", answer) == "print(sum(map(int, input().split())))\n"


def test_few_shot_needs_the_examples() -> None:
    bare = Sample("MBPP/1", {k: v for k, v in TASK.fields.items() if k != "shots"})
    covered = {name for name, code in ALL.items() if code.protocol.covers(bare)}
    assert set(ALL) - covered == {"mbpp/few-shot-3", "mbpp/few-shot-3-imports"}


def test_the_response_stays_as_the_engine_gave_it() -> None:
    response = Generated("```python\nx\n```", 5, "eos")
    assert all(code.protocol.read(FUNCTION, response) is response for code in ALL.values())


def test_a_response_becomes_a_task_with_an_id_of_its_own() -> None:
    execute = ALL["humaneval/raw"].protocol.execute
    assert execute is not None
    task = execute(FUNCTION, Generated("    return a * b\n", 5, "stop"), 3)
    assert task == FunctionTask(
        id="humaneval/raw/Demo/0-t03",
        program=FUNCTION["prompt"] + "    return a * b\n",
        test=FUNCTION["test"],
        entry_point="area",
        prelude=FUNCTION["prompt"],
    )


def test_the_imports_come_before_the_program() -> None:
    execute = ALL["mbpp/few-shot-3-imports"].protocol.execute
    assert execute is not None
    task = execute(TASK, Generated("def area(a, b):\n  return a * b\n", 5, "stop"), 0)
    assert isinstance(task, FunctionTask)
    assert task.program == f"{IMPORTS}\ndef area(a, b):\n  return a * b\n"
    assert task.test == "import math\nassert area(2, 3) == 6\nassert area(1, 1) == 1"
    assert {"import math", "import re", "from typing import *"} <= set(IMPORTS.splitlines())


def test_future_imports_stay_in_front() -> None:
    program = '"""Doc."""\nfrom __future__ import annotations\nx: int = 1\n'
    whole = with_preamble("import math\n", program)
    compile(whole, "program", "exec")
    assert whole.startswith("from __future__ import annotations\nimport math\n")


@pytest.mark.parametrize(
    ("name", "compare"),
    [
        ("codecontests/alpaca", "tolerant"),
        ("codecontests/alpaca-tokens", "tokens"),
        ("codecontests/alpaca-strip", "strip"),
    ],
)
def test_a_contest_task_compares_as_its_protocol_says(name: str, compare: str) -> None:
    execute = ALL[name].protocol.execute
    assert execute is not None
    task = execute(CONTEST, Generated("print(3)", 5, "eos"), 0)
    assert isinstance(task, StdioTask)
    assert (list(task.cases), task.compare) == ([("1 2\n", "3\n")], compare)


def test_problems_with_inputs_bring_their_own_limits() -> None:
    plus = Sample("MBPP/2", {"plus_input": []})
    for code in ALL.values():
        own = code.protocol.own_limits
        assert own is not None
        assert own(plus) == {
            "exec_timeout_s": "max(1, 4 x reference) for an input",
            "exec_memory_mb": 4096,
        }
        assert own(CONTEST) == {}


def test_a_mistyped_name_gets_the_nearest() -> None:
    assert find("mbpp/alpaca", ALL) is mbpp.ALPACA
    with pytest.raises(CkptbenchError, match=r"'mbpp/alpac'.*did you mean 'mbpp/alpaca'"):
        find("mbpp/alpac", ALL)
