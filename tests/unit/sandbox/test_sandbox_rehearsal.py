"""The rehearsal: what it does is not done again in a program's process, and it leaves nothing."""

from __future__ import annotations

import linecache
import sys

import pytest

from ckptbench.fixtures.sandbox import FunctionTask, Sandbox
from ckptbench.fixtures.sandbox.rehearsal import rehearse

# How many instructions of a function are specialized.
SPECIALIZED = """
import dis, sys

def f(name):
    code = getattr(sys.modules["ckptbench_sandbox.conversation"].Side, name)
    shown = zip(dis.get_instructions(code, adaptive=True), dis.get_instructions(code))
    return sum(now.opname != first.opname for now, first in shown)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
@pytest.mark.parametrize(
    ("program", "test"),
    [
        (SPECIALIZED, "assert f('_done') > 0"),
        ("def f(): return 1", f"{SPECIALIZED.replace('f(', 'g(')}\nassert g('_request') > f()"),
    ],
    ids=["the program's", "the tests'"],
)
def test_a_process_finds_the_code_of_its_side_specialized(program: str, test: str) -> None:
    with Sandbox(workers=1) as sandbox:
        result = sandbox.submit(FunctionTask("it", program, test, "f")).result()
    assert result.passed, result


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
def test_a_program_gets_no_pages_of_large_modules_that_few_programs_use() -> None:
    program = "import sys\ndef f(name): return name in sys.modules"
    large = "inspect", "dataclasses", "hashlib", "ckptbench_sandbox.pool"
    test = "\n".join(f"assert not f({name!r}), {name!r}" for name in large)
    with Sandbox(workers=1) as sandbox:
        result = sandbox.submit(FunctionTask("it", program, test, "f")).result()
    assert result.passed, result


def test_a_rehearsal_is_passed_and_leaves_modules_and_lines_of_source_as_they_were() -> None:
    before = dict(sys.modules), dict(linecache.cache)
    assert set(rehearse()) == {"pass"}
    assert (dict(sys.modules), dict(linecache.cache)) == before
