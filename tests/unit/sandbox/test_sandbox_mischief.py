# ruff: noqa: E501  (programs read best a row each)
"""More programs that attack: the channel, the judge's own names, and what no limit counts.

Beside those of `test_sandbox_hostile`. None may get a pass for a wrong answer, none may make the
sandbox say that it is itself at fault (`error`), and the next program is judged all the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.sandbox import FunctionTask, Sandbox, StdioTask
from ckptbench.fixtures.sandbox.compare import close

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")

PROMPT = 'def join(a, b):\n    """Return a followed by b."""\n'
RIGHT = "    return a + b\n"
LINES = "assert candidate('x', 'yz') == 'xyz'\nassert candidate([1], [2]) == [1, 2]\n"
SEND = """
import json, os, struct
def send(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    data = struct.pack('=I', len(data)) + data
    while data: data = data[os.write(3, data):]
"""
# The child's side of the channel says of other names of the tests that they are its own, too.
NAMES = """
import sys
channel = next(m for n, m in list(sys.modules.items()) if n.endswith('.candidate'))
honest, remember = channel.dumps, channel._Answers._encode
def lies(self, value):
    told = remember(self, value)
    self._kept[1:] = [lambda *_: {answer}]
    return told
channel._Answers._encode = lies
channel.dumps = lambda m: honest(['ready', {{**m[1], '{name}': {{'handle': 1}}}}] if m[0] == 'ready' else m)
"""

# name: (the lines of check, the program after its prompt)
FORGERS = {
    "a builtin of its own for the tests": (
        "assert abs(candidate(2, 3) - 5) < 1e-6",
        "    return 0\n" + NAMES.format(name="abs", answer=-1),
    ),
    "another builtin of its own": (
        "assert all([candidate(2, 3) == 5])",
        "    return 0\n" + NAMES.format(name="all", answer=True),
    ),
    "a check of its own": (LINES, "    return 0\n" + NAMES.format(name="check", answer=None)),
    "a module of its own for the tests": (
        "assert math.isclose(candidate(2, 3), 5)",
        "    return 0\nclass math:\n    isclose = staticmethod(lambda *_: True)\n",
    ),
    "the end of a loop over checks": (
        "assert all(map(lambda c: candidate(*c[:2]) == c[2], [(1, 2, 3), (3, 4, 7)]))",
        "    raise StopIteration\n",
    ),
    "the end of a loop, by inheritance": (
        "assert all(map(lambda c: candidate(*c[:2]) == c[2], [(1, 2, 3), (3, 4, 7)]))",
        "    class E(KeyError, StopIteration): pass\n    raise E\n",
    ),
    "answers as many as questions": (LINES, SEND.replace("\n", "\n    ") + "\n    send(['value', True, None])\n    send(['value', True, None])\n    return 0\n"),
    "a ready that comes twice": (LINES, "    return 0\n" + SEND + "send(['ready', {'join': {'type': 'list'}}])\n"),
    "not a number": ("assert not candidate(2, 3) != 5", "    return float('nan')\n"),
    "a text that compares as it likes": (LINES, "    class S(str):\n        __eq__ = __ge__ = lambda s, o: True\n        __hash__ = str.__hash__\n    return S()\n"),
    "a whole number that is every number": (LINES, "    class I(int):\n        __eq__ = lambda s, o: True\n        __sub__ = __rsub__ = lambda s, o: 0\n        __hash__ = int.__hash__\n    return I()\n"),
    "builtins of everybody's": (LINES, "    import builtins\n    builtins.all = builtins.isinstance = lambda *_: True\n    builtins.AssertionError = Exception\n    return 0\n"),
    "modules of everybody's": (LINES, "    import sys\n    for name in list(sys.modules): sys.modules[name] = sys\n    return 0\n"),
    "a finder of modules": (LINES, "    import sys\n    class F:\n        def find_spec(*_): raise SystemExit(0)\n    sys.meta_path.insert(0, F)\n    import antigravity\n"),
    "a tracer": (LINES, "    import sys, threading\n    def trace(frame, event, arg):\n        for name in frame.f_locals:\n            if name == 'value': frame.f_locals[name] = 'xyz'\n        return trace\n    sys.settrace(trace); threading.settrace(trace)\n    return 0\n"),
    "a hook of the collector": (LINES, "    import gc, os\n    gc.callbacks.append(lambda *_: os._exit(0))\n    gc.collect()\n"),
    "a last will": (LINES, "    class W:\n        def __del__(self):\n            import os\n            os._exit(0)\n    W()\n"),
    "exit 0": (LINES, "    exit(0)\n"),
    "exit 0 at once": (LINES, RIGHT + "import os\nos._exit(0)\n"),
    "exit 0 in a thread": (LINES, "    import os, threading\n    threading.Thread(target=os._exit, args=(0,)).start()\n    while True: pass\n"),
    "what collects tests": (LINES, "    import gc\n    for thing in gc.get_objects():\n        if isinstance(thing, str) and thing == ''.join(('x', 'yz')): return thing\n    return 0\n"),
}  # fmt: skip

# Whatever the judge does with these, it is the program's fault.
BLAMED = {
    "a module that is passed back": ("assert candidate(candidate(1, 2), 3) == 6", "    import math\n    return math\n"),
    "a text that grows on its way back": ("assert candidate(candidate(1, 2) * 2, 3) == 9", "    return 'x' * (40 << 20)\n"),
    "a text at the edge of what is sent": ("assert candidate(candidate(1, 2), 3) == 9", "    return 'x' * ((64 << 20) - 30) if a == 1 else 0\n"),
    "a tag without end": (LINES, SEND.replace("\n", "\n    ") + "\n    send(['value', {chr(92) * (20 << 20): 0}, None])\n"),
    "names of an error without end": (LINES, SEND.replace("\n", "\n    ") + "\n    send(['raised', [['x' * (9 << 20)]], 'y' * (9 << 20)])\n"),
    "no name of an error": (LINES, SEND.replace("\n", "\n    ") + "\n    send(['raised', [], []])\n"),
    "a handle that is a list": ("assert candidate(1, 2) in {1, 2}", SEND.replace("\n", "\n    ") + "\n    send(['value', {'handle': [[]]}, None])\n"),
    "changes of another shape": (LINES, SEND.replace("\n", "\n    ") + "\n    send(['value', 0, [[1], 2]])\n"),
    "depth at the edge": (LINES, SEND.replace("\n", "\n    ") + "\n    send(b'[\"value\",' + b'[' * 950 + b']' * 950 + b',null]')\n"),
    "a name in the way of the broom": (LINES, "    import os\n    d = f'.sweep-{os.getppid()}-1'\n    if not os.path.exists(d): os.makedirs(d + '/x/y'); os.makedirs('a/b/c')\n    return 0\n"),
    "half a character": (LINES, "    raise ValueError('\\ud800')\n"),
    "an order to the terminal": (LINES, "    raise ValueError('\\x1b[2J\\x07')\n"),
}  # fmt: skip

HOARDERS = {
    "threads with small stacks": "    import threading, time\n    threading.stack_size(32768)\n    for _ in range(30000): threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n",
    "room that is reserved": "    import os, time\n    for i in range(99): os.posix_fallocate(os.open(f'f{i}', os.O_CREAT | os.O_RDWR), 0, 15 << 20)\n    time.sleep(.5)\n",
    "files without a name": "    import os, time\n    x = []\n    for i in range(99):\n        f = open('f', 'wb'); os.unlink('f'); f.write(bytes(15 << 20)); f.flush(); x.append(f)\n    time.sleep(.5)\n",
    "files too deep to be seen": "    import os, time\n    for i in range(3000):\n        os.mkdir('d'); os.chdir('d')\n    for i in range(9): open(f'f{i}', 'wb').write(bytes(8 << 20))\n    time.sleep(.5)\n",
    "files in a folder that nobody lists": "    import os, time\n    os.mkdir('d', 0o300)\n    for i in range(9): open(f'd/f{i}', 'wb').write(bytes(8 << 20))\n    time.sleep(.5)\n",
    "pipes": "    import fcntl, os\n    for _ in range(99): fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)\n",
}  # fmt: skip

CALLS = {
    "a ring of requests": 425,
    "page faults of its own": 323,
    "another's memory, written": 311,
    "a handle on its parent": 434,
    "a trace": 101,
    "another's name spaces": 308,
    "another root": 161,
    "a program of the kernel's": 321,
    "keys": 248,
    "counters": 298,
    "a socket": 41,
    "a message with descriptors": 46,
}  # fmt: skip
"""System calls of x86-64 by number, each of which ends the program."""

# name: (source, verdicts), of a script that should print 5
SCRIPTS = {
    "a status without end": (SEND + "send(['ended', '\\0' * (10 << 20), [], ''])\nimport time; time.sleep(9)\n", "fail"),
    "deep names of an error": (SEND + "send(b'[\"ended\",0,[' + b'[' * 950 + b']' * 950 + b'],\"\"]')\nimport time; time.sleep(9)\n", "fail"),
    "an end that is none": (SEND + "send(['ended', 0, [], ''])\n", "fail"),
    "the words of the protocol": ("import sys\nsys.stdout.write('[\"ended\", 0, [], \"\"]')\n", "fail"),
    "a hole": ("import os\nos.ftruncate(1, (64 << 20) - 1)\n", "fail"),
    "a hole without end": ("import os\nos.ftruncate(1, 1 << 40)\n", "crash output"),
    "an output of its own": ("import sys\nclass O:\n    def __eq__(*_): return True\n    def flush(*_): pass\nsys.stdout = O()\n", "fail"),
    "a seal on its output": ("import fcntl\ntry: fcntl.fcntl(1, 1033, 15)\nexcept OSError: print(5)\n", "pass"),
    "an output that is a mess": ("import os\nos.write(1, b'\\xff\\xfe5')\n", "fail"),
    "an answer before it is asked": ("import os\nos.write(1, b'5')\nos.lseek(1, 0, 0)\nos.write(1, b'6')\n", "fail"),
}  # fmt: skip


@pytest.fixture(scope="module", params=["L2", "L3"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=1.5, memory_mb=512, level=request.param) as box:
        try:
            box.describe()
        except CkptbenchError as error:
            pytest.skip(str(error))
        yield box


def check(lines: str) -> str:
    return "def check(candidate):\n" + "".join(f"    {line}\n" for line in lines.splitlines())


def verdict(sandbox: Sandbox, completion: str, lines: str = LINES) -> str:
    task = FunctionTask("it", PROMPT + completion, check(lines), "join", PROMPT)
    found = sandbox.submit(task).result(timeout=120)
    assert found.reason.isprintable()
    assert len(found.reason) <= 400
    following = FunctionTask("next", PROMPT + RIGHT, check(LINES), "join", PROMPT)
    assert sandbox.submit(following).result().passed
    return found.status


@pytest.mark.parametrize("name", FORGERS)
def test_no_verdict_is_forged_by(sandbox: Sandbox, name: str) -> None:
    lines, completion = FORGERS[name]
    assert verdict(sandbox, RIGHT, lines) == "pass" or "math." in lines
    assert verdict(sandbox, completion, lines) == "fail"


@pytest.mark.parametrize("name", BLAMED)
def test_the_sandbox_is_not_made_to_blame_itself_by(sandbox: Sandbox, name: str) -> None:
    lines, completion = BLAMED[name]
    assert verdict(sandbox, completion, lines) == "fail"


@pytest.mark.parametrize("name", HOARDERS)
def test_there_is_an_end_to(sandbox: Sandbox, name: str) -> None:
    assert verdict(sandbox, HOARDERS[name] + "    return 0\n") in ("fail", "memory", "timeout")


@pytest.mark.parametrize("name", CALLS)
def test_a_program_is_ended_by(sandbox: Sandbox, name: str) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("written for x86-64")
    call = f"    import ctypes\n    ctypes.CDLL(None).syscall({CALLS[name]}, 0, 0, 0, 0, 0, 0)\n"
    assert verdict(sandbox, call + RIGHT) == "violation"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_does_not_talk_its_way_out_by(sandbox: Sandbox, name: str) -> None:
    source, words = SCRIPTS[name]
    found = sandbox.submit(StdioTask("it", source, [("", "5")])).result(timeout=120)
    assert found.status in words.split(), found.reason
    assert len(found.reason) <= 400


def test_a_module_that_tests_take_from_the_program_is_the_real_one(sandbox: Sandbox) -> None:
    lines = "assert math.isclose(candidate(2, 3), 5)"
    assert verdict(sandbox, RIGHT + "import math\n", lines) == "pass"


def test_not_everything_is_close_to_infinity() -> None:
    assert close(float("inf"), float("inf"), 1e-6)
    assert not close(5.0, float("inf"), 1e-6)
    assert not close([5.0], [float("-inf")], 0)
