"""The rehearsal: what it does is not done again in a program's process, and it leaves nothing."""

from __future__ import annotations

import linecache
import sys

import pytest

from ckptbench.fixtures.sandbox import FunctionTask, Sandbox
from ckptbench.fixtures.sandbox.rehearsal import rehearse

# How many instructions of the code that answers for a program are specialized.
SPECIALIZED = """
import dis, sys

def f():
    code = sys.modules["ckptbench_sandbox.conversation"].Side._done
    shown = zip(dis.get_instructions(code, adaptive=True), dis.get_instructions(code))
    return sum(now.opname != first.opname for now, first in shown)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
def test_a_program_finds_the_code_that_answers_for_it_specialized() -> None:
    task = FunctionTask("it", SPECIALIZED, "assert f() > 0", "f")
    with Sandbox(workers=1) as sandbox:
        assert sandbox.submit(task).result().passed


def test_a_rehearsal_leaves_modules_and_lines_of_source_as_they_were() -> None:
    before = dict(sys.modules), dict(linecache.cache)
    rehearse()
    assert (dict(sys.modules), dict(linecache.cache)) == before
