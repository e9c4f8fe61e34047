"""Test code of the benchmarks against programs: what passes, what does not, what travels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.sandbox import (
    ExecutionResult,
    FunctionTask,
    InputsTask,
    Sandbox,
    StdioTask,
    Task,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=3.0) as box:
        yield box


def verdict_of(sandbox: Sandbox, task: Task) -> ExecutionResult:
    return sandbox.submit(task).result(timeout=60)


def test_a_prompt_lends_its_helpers_to_the_tests(sandbox: Sandbox) -> None:
    prompt = (
        "def poly(xs, x):\n    return sum(c * x ** i for i, c in enumerate(xs))\n\n\n"
        'def root(xs):\n    """A root of poly(xs)."""\n'
    )
    test = "def check(candidate):\n    assert abs(poly([1, 2], candidate([1, 2]))) < 1e-4\n"
    right = f"{prompt}    return -xs[0] / xs[1]\n"
    assert verdict_of(sandbox, FunctionTask("a", right, test, "root", prompt)).passed
    # The program's own idea of the helper does not count.
    forged = f"{prompt}    return 5\ndef poly(xs, x): return 0\n"
    assert verdict_of(sandbox, FunctionTask("b", forged, test, "root", prompt)).status == "fail"


def test_classes_of_the_answer_are_made_changed_and_passed_by_the_tests(sandbox: Sandbox) -> None:
    program = (
        "class Node:\n    def __init__(self, value):\n        self.value, self.left = value, None\n"
        "def depth(node):\n    return 0 if node is None else 1 + depth(node.left)\n"
    )
    setup = "root = Node(1)\nroot.left = Node(2)\nroot.left.left = Node(3)"
    for asserts in (
        ["assert depth(root) == 3"],
        ["assert depth(root.left) == 2", "assert root.left.value == 2"],
    ):
        task = FunctionTask("a", program, "\n".join([setup, *asserts]), "depth")
        assert verdict_of(sandbox, task).passed


def test_an_entry_point_may_be_named_like_a_builtin(sandbox: Sandbox) -> None:
    task = FunctionTask("a", "def sum(a, b): return a * b", "assert sum(3, 5) == 15", "sum")
    assert verdict_of(sandbox, task).passed


def test_other_builtins_are_the_judge_s_own(sandbox: Sandbox) -> None:
    program = "def set(x): return 0\ndef f(x): return [x]"
    task = FunctionTask("a", program, "assert set(f(1)) == set([2])", "f")
    assert verdict_of(sandbox, task).status == "fail"


def test_a_module_that_tests_forgot_to_import_is_the_judge_s_own(sandbox: Sandbox) -> None:
    test = "assert math.isclose(f(1), 0.5)"
    imported = "import math\ndef f(x): return 0.5"
    assert verdict_of(sandbox, FunctionTask("a", imported, test, "f")).passed
    forgotten = "def f(x): return 0.5"
    assert verdict_of(sandbox, FunctionTask("b", forgotten, test, "f")).passed
    false = "class math:\n    isclose = lambda *_: True\ndef f(x): return 7"
    assert verdict_of(sandbox, FunctionTask("c", false, test, "f")).status == "fail"


def test_changes_in_place_come_back(sandbox: Sandbox) -> None:
    program = "def f(xs, d):\n    xs[0].append(4)\n    xs.pop()\n    d['k'] = 1"
    test = (
        "inner = [3]\nxs, d = [inner, 9], {}\nassert f(xs, d) is None\n"
        "assert xs == [[3, 4]] and xs[0] is inner and d == {'k': 1}\n"
    )
    assert verdict_of(sandbox, FunctionTask("a", program, test, "f")).passed


def test_exceptions_arrive_as_the_builtin_of_the_same_name(sandbox: Sandbox) -> None:
    program = (
        "class Mine(KeyError): pass\ndef f(x):\n    raise Mine('no') if x else ValueError('v')"
    )
    test = (
        "for x, kind in ((1, KeyError), (0, ValueError)):\n"
        "    try:\n        f(x)\n    except kind:\n        pass\n    else:\n        assert False\n"
    )
    assert verdict_of(sandbox, FunctionTask("a", program, test, "f")).passed


def test_a_program_that_has_left_passes_no_test_that_catches_everything(sandbox: Sandbox) -> None:
    test = "def check(f):\n    try:\n        f()\n    except BaseException:\n        pass\n"
    for body in ("import os; os._exit(0)", "import os; os.close(3)", "while True: pass"):
        task = FunctionTask("a", f"def f():\n    {body}", test, "f")
        assert not verdict_of(sandbox, task).passed, body


def test_tests_that_call_their_check_are_not_called_twice(sandbox: Sandbox) -> None:
    program = "n = 0\ndef f():\n    global n\n    n += 1\n    return n"
    test = "def check(candidate):\n    assert candidate() == 1\ncheck(f)\n"
    assert verdict_of(sandbox, FunctionTask("a", program, test, "f")).passed


def test_main_guards_of_functions_do_not_run_those_of_scripts_do(sandbox: Sandbox) -> None:
    guard = "if __name__ == '__main__':\n    print(input()[::-1])"
    task = FunctionTask("a", f"def f(): return 1\n{guard}", "assert f() == 1", "f")
    assert verdict_of(sandbox, task).passed
    assert verdict_of(sandbox, StdioTask("b", guard, [("abc\n", "cba")])).passed


@pytest.mark.parametrize(
    ("body", "atol", "word"),
    [
        ("return x / 3", 0.0, "pass"),
        ("return round(x / 3, 8)", 0.0, "pass"),
        ("return round(x / 3, 3)", 0.0, "fail"),
        ("return round(x / 3, 3)", 0.01, "pass"),
        ("return None", 0.01, "fail"),
        ("raise ValueError", 0.0, "fail"),
        ("x.append(1)", 0.0, "fail"),
    ],
)
def test_inputs_are_judged_by_a_reference(
    sandbox: Sandbox, body: str, atol: float, word: str
) -> None:
    task = InputsTask(
        "a", f"def f(x): {body}", "f", [[1], [2.0], [7]], "def f(x): return x / 3", atol
    )
    assert verdict_of(sandbox, task).status == word


def test_an_oracle_decides_where_agreement_is_something_else(sandbox: Sandbox) -> None:
    oracle = "def accept(inputs, output, expected, atol): return set(output) == set(expected)"
    reference = "def f(x): return sorted(x)"
    program = "def f(x): return x[::-1]"
    task = InputsTask("a", program, "f", [[[1, 2]], [[3]]], reference, oracle=oracle)
    assert verdict_of(sandbox, task).passed
    assert (
        verdict_of(sandbox, InputsTask("b", program, "f", [[[1, 2]]], reference)).status == "fail"
    )


@pytest.mark.slow
def test_each_input_has_time_of_its_own_by_the_reference(sandbox: Sandbox) -> None:
    """0.9 s for each of four inputs is more than a sandbox of 3 s has for one function."""
    program = "import time\ndef f(x):\n    time.sleep(0.9)\n    return x"
    inputs = [[1], [2], [3], [4]]
    assert verdict_of(sandbox, InputsTask("a", program, "f", inputs, "def f(x): return x")).passed
    slow = "import time\ndef f(x):\n    time.sleep(1.5 if x == 2 else 0)\n    return x"
    late = verdict_of(sandbox, InputsTask("b", slow, "f", inputs, "def f(x): return x"))
    assert (late.status, late.reason) == ("timeout", "more than 1 s")
    patient = "import time\ndef f(x):\n    time.sleep(0.6)\n    return x"
    assert verdict_of(sandbox, InputsTask("c", slow, "f", inputs[:2], patient)).passed


def test_inputs_have_the_memory_of_evalplus_and_functions_less(sandbox: Sandbox) -> None:
    program = "def f(x): return len(bytes(2**30))"
    task = InputsTask("a", program, "f", [[1]], "def f(x): return 2**30")
    assert verdict_of(sandbox, task).passed
    assert verdict_of(sandbox, FunctionTask("b", program, "assert f(1)", "f")).status == "memory"
    with Sandbox(workers=1, memory_mb=256) as small:
        assert verdict_of(small, task).status == "memory"


def test_a_tolerance_that_floats_get_holds_for_the_rest_of_the_set(sandbox: Sandbox) -> None:
    reference = "def f(x): return [x, 0.5] if x else 0.5"
    program = "def f(x): return [x, 0.5 + 1e-9] if x else 0.5"
    inputs = [[0], [1]]
    assert verdict_of(sandbox, InputsTask("a", program, "f", inputs, reference)).passed
    alone = InputsTask("b", program, "f", inputs, reference, starts=(0, 1))
    assert verdict_of(sandbox, alone).reason == "AssertionError: wrong answer on input 1"


@pytest.mark.parametrize(
    ("last", "word"),
    [("(n, 'a')", "pass"), ("(n, 'b')", "fail"), ("(float(n), 'a')", "pass"), ("[n, 'a']", "fail")],
)
def test_answers_too_large_for_a_message_are_compared_in_pieces(
    sandbox: Sandbox, last: str, word: str
) -> None:
    reference = "def f(n): return [(i, 'a') for i in range(n)] + [(n, 'a')]"
    program = f"def f(n): return [(i, 'a') for i in range(n)] + [{last}]"
    task = InputsTask("a", program, "f", [[2_000_000]], reference)
    assert verdict_of(sandbox, task).status == word


def test_an_answer_much_larger_than_a_right_one_is_wrong(sandbox: Sandbox) -> None:
    task = InputsTask("a", "def f(n): return [0] * n", "f", [[10**6]], "def f(n): return [0]")
    verdict = verdict_of(sandbox, task)
    assert verdict.status == "fail"
    assert "too large to be right" in verdict.reason


def test_an_iterator_is_no_list(sandbox: Sandbox) -> None:
    reference, program = "def f(x): return [x]", "def f(x): yield x"
    assert verdict_of(sandbox, InputsTask("a", program, "f", [[1]], reference)).status == "fail"
    oracle = "def accept(inputs, output, expected, atol): return set(output) == set(expected)"
    any_order = InputsTask("b", program, "f", [[1]], reference, oracle=oracle)
    assert verdict_of(sandbox, any_order).passed


def test_a_script_writes_out_what_its_objects_hold_at_its_end(sandbox: Sandbox) -> None:
    program = (
        "import os, io\n"
        "class Out(io.IOBase):\n"
        "    text = b''\n"
        "    def flush(self):\n"
        "        os.write(1, self.text)\n"
        "        self.text = b''\n"
        "out = Out()\nout.text = b'6'\n"
    )
    assert verdict_of(sandbox, StdioTask("a", program, [("", "6")])).passed
    replaced = program + "import sys\nsys.stdout, out = out, 0\n"
    assert verdict_of(sandbox, StdioTask("b", replaced, [("", "6")])).passed


def test_faults_of_the_task_are_errors_and_say_nothing_of_the_program(sandbox: Sandbox) -> None:
    program = "def f(x): return x"
    for task, what in (
        (FunctionTask("a", program, "assert f(1) ==", "f"), "do not compile"),
        (FunctionTask("b", program, "assert f(1)", "f", prelude="1 / 0"), "ZeroDivisionError"),
        (FunctionTask("c", program, "assert f(object()) == 1", "f"), "type object"),
        (InputsTask("d", program, "f", [[1]], "def f(x): raise KeyError"), "KeyError"),
    ):
        verdict = verdict_of(sandbox, task)
        assert verdict.status == "error"
        assert what in verdict.reason


def test_inputs_that_are_no_data_are_told_at_once(sandbox: Sandbox) -> None:
    future = sandbox.submit(InputsTask("a", "", "f", [[object()]], ""))
    with pytest.raises(CkptbenchError, match="type object cannot be sent"):
        future.result(timeout=60)


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("import sys\nprint(sum(map(int, sys.stdin)))", "pass"),
        ("print(sum(map(int, open(0))))", "pass"),
        ("import os\nos.write(1, b'6\\n')\nos._exit(0)", "pass"),
        ("import sys\nwith sys.stdout as out: print(6, file=out)", "pass"),
        ("import atexit\natexit.register(print, 6)", "pass"),
        ("import threading\nthreading.Thread(target=print, args=(6,)).start()", "pass"),
        ("print(6)\nexit()", "pass"),
        ("print(6)\nraise SystemExit('no')", "crash"),
        ("print(6)\nimport os\nos._exit(2)", "crash"),
        ("print(6)\n1 / 0", "crash"),
        ("print(6)\nimport ctypes\nctypes.string_at(0)", "crash"),
        ("print(6)\nimport os\nos.fork()", "violation"),
        ("print(5)", "fail"),
        ("print(6", "crash"),
        ("x = [0] * 10**10", "memory"),
        ("import os\nos.write(3, b'spam' * 9)\nprint(6)", "fail"),
    ],
)
def test_scripts_are_run_as_the_interpreter_runs_a_file(
    sandbox: Sandbox, program: str, word: str
) -> None:
    verdict = verdict_of(sandbox, StdioTask("a", program, [("1\n2\n3\n", "6\n")]))
    assert verdict.status == word, verdict.reason


def test_each_case_of_a_script_starts_anew_and_the_first_wrong_one_is_named(
    sandbox: Sandbox,
) -> None:
    program = "import os\nprint(len(os.listdir('.')) + int(input()))\nopen('seen', 'w').close()"
    cases: list[Any] = [("0", "0"), ("1", "1"), ("2", "3"), ("3", "3")]
    verdict = verdict_of(sandbox, StdioTask("a", program, cases))
    assert verdict.status == "fail"
    assert verdict.reason.startswith("case 2:")
