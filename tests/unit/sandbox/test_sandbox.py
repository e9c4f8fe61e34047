"""Programs are judged exactly, and neither the tests nor this machine are in their reach."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptbench.fixtures.sandbox import ExecutionResult, FunctionTask, Sandbox, StdioTask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")

PROMPT = 'def double(x):\n    """Twice x."""\n'
TEST = """
def check(candidate):
    assert candidate(2) == 4
    assert candidate("ab") == "abab"
    assert candidate([1]) == [1, 1]
"""


@pytest.fixture(scope="module", params=["L2", "auto"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=1.0, level=request.param) as box:
        if not box.describe().startswith(("sandbox: L2", "sandbox: L3")):
            pytest.skip(f"this machine holds no walls: {box.describe()}")
        yield box


def judged(sandbox: Sandbox, completion: str) -> ExecutionResult:
    task = FunctionTask("it", PROMPT + completion, TEST, "double", PROMPT)
    return sandbox.submit(task).result(timeout=60)


def test_a_right_answer_passes(sandbox: Sandbox) -> None:
    verdict = judged(sandbox, "    return x + x\n")
    assert verdict.passed
    assert verdict.reason == ""
    assert verdict.level in ("L2", "L3")


@pytest.mark.parametrize(
    "completion",
    [
        "    return x\n",
        "    return x +\n",
        "",
        "    raise SystemExit(0)\n",
        "    import os\n    os._exit(0)\n",
        "    return 0\nimport os\nos._exit(0)\n",
        # Answers that call themselves equal to anything.
        "    class Liar(int):\n        def __eq__(self, other): return True\n"
        "        __hash__ = int.__hash__\n    return Liar(0)\n",
        "    class Liar(list):\n        def __eq__(self, other): return True\n    return Liar()\n",
        # Looking for the tests: frames, objects, files, what the process was started with.
        "    import sys\n    frame = sys._getframe()\n    while frame:\n"
        "        if 'candidate' in frame.f_locals: return x + x\n        frame = frame.f_back\n"
        "    return None\n",
        "    import gc\n    for o in gc.get_objects():\n"
        "        if isinstance(o, str) and 'candidate(2)' in o: return x + x\n    return None\n",
        # Forging a verdict on whatever descriptor there is.
        "    import os\n    for fd in range(3, 64):\n        try: os.write(fd, b'pass')\n"
        "        except OSError: pass\n    return None\n",
        # Bending what tests are made of.
        "    return 0\nimport builtins\nbuiltins.AssertionError = KeyError\n"
        "builtins.isinstance = lambda *a: True\n",
        "    return 0\ndef check(candidate): pass\n",
    ],
)
def test_nothing_else_does(sandbox: Sandbox, completion: str) -> None:
    assert judged(sandbox, completion).status == "fail"


@pytest.mark.parametrize(
    ("completion", "word"),
    [
        ("    while True: pass\n", "timeout"),
        ("    import time\n    time.sleep(60)\n", "timeout"),
        ("    return bytearray(4 * 2**30)\n", "memory"),
    ],
)
def test_limits_have_names_of_their_own(sandbox: Sandbox, completion: str, word: str) -> None:
    assert judged(sandbox, completion).status == word


@pytest.mark.parametrize(
    "act",
    [
        "import os; os.fork()",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.execv('/bin/true', ['true'])",
        "import socket; socket.socket()",
        "import os; os.kill(os.getppid(), 9)",
        "import ctypes; ctypes.CDLL(None).syscall(101, 16, 1, 0, 0)",  # ptrace
    ],
)
def test_forbidden_system_calls_end_a_program(sandbox: Sandbox, act: str) -> None:
    assert judged(sandbox, f"    {act}\n    return x + x\n").status in ("violation", "fail")


def test_files_outside_the_scratch_folder_are_out_of_reach(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("untouched")
    for act in (
        f"open({str(victim)!r}).read()",
        f"open({str(victim)!r}, 'w').write('gone')",
        f"__import__('os').unlink({str(victim)!r})",
        f"__import__('os').chmod({str(victim)!r}, 0)",
        f"__import__('os').symlink({str(victim)!r}, 'link') or open('link').read()",
        f"__import__('os').mkdir({str(tmp_path / 'new')!r})",
    ):
        # Right only for a program that was let out.
        verdict = judged(sandbox, f"    {act}\n    return x + x\n")
        assert verdict.status in ("fail", "violation"), act
    assert victim.read_text() == "untouched"
    assert os.listdir(tmp_path) == ["victim.txt"]


def test_a_sandbox_outlives_whatever_it_judged(sandbox: Sandbox) -> None:
    for completion in (
        "    import os\n    os.abort()\n",
        "    import ctypes\n    ctypes.string_at(0)\n",
    ):
        assert not judged(sandbox, completion).passed
        assert judged(sandbox, "    return x * 2\n").passed


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Sandbox(workers=1, timeout_s=1.0) as box:
        assert judged(box, "    open('litter', 'w').write('x')\n    return x + x\n").passed
        assert os.listdir(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("program", "compare", "word"),
    [
        ("print(int(input()) + 1)", "tokens", "pass"),
        ("print('', int(input()) + 1, '')", "tokens", "pass"),
        ("print(0)", "tokens", "fail"),
        ("raise SystemExit(3)", "tokens", "crash"),
        ("while True: print('x' * 10**6)", "tokens", "output"),
    ],
)
def test_scripts_read_and_write(sandbox: Sandbox, program: str, compare: str, word: str) -> None:
    task = StdioTask("it", program, (("1\n", "2\n"), ("41\n", "42")), compare)  # type: ignore[arg-type]
    assert sandbox.submit(task).result(timeout=60).status == word


def test_each_task_has_one_verdict(sandbox: Sandbox) -> None:
    tasks = [
        FunctionTask(f"t{i}", f"{PROMPT}    return x * {i}\n", TEST, "double", PROMPT)
        for i in range(6)
    ]
    found = list(sandbox.judge(tasks))
    assert sorted(name for name, _ in found) == [f"t{i}" for i in range(6)]
    assert [name for name, verdict in found if verdict.passed] == ["t2"]
