# ruff: noqa: E501  (programs read best a row each)
"""What tests and programs may pass to each other, and what neither decides for the other."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptbench.fixtures.sandbox import ExecutionResult, FunctionTask, InputsTask, Sandbox, StdioTask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")

RIGHT = {
    "a lambda": ("def f(g, x): return g(g(x))", "assert f(lambda v: v * 2, 3) == 12"),
    "a function of the tests that calls back": (
        "def f(g, n): return [g(i) for i in range(n)]",
        "assert f(lambda i: f(lambda j: i * j, 3), 2) == [[0, 0, 0], [0, 1, 2]]",
    ),
    "builtin functions and methods of types": (
        "def f(g, *a): return g(*a)",
        "import operator\nassert f(len, 'ab') == 2 and f(str.upper, 'a') == 'A' and f(operator.add, 1, 2) == 3\nassert f(sorted, [2, 1]) == [1, 2] and f(int, '7') == 7",
    ),
    "a method of a list of the tests": (
        "def f(tell): [tell(i) for i in range(3)]",
        "seen = []\nf(seen.append)\nassert seen == [0, 1, 2]",
    ),
    "an object of a class of the tests": (
        "def f(n): return n.value + (f(n.next) if n.next else 0)",
        "class Node:\n    def __init__(self, value, next=None): self.value, self.next = value, next\nassert f(Node(1, Node(2, Node(3)))) == 6",
    ),
    "an object of the tests that is changed and comes back": (
        "def f(n):\n    n.left, n.right = n.right, n.left\n    return n",
        "class Tree:\n    def __init__(self, l, r): self.left, self.right = l, r\nt = Tree(1, 2)\nassert f(t) is t and (t.left, t.right) == (2, 1)",
    ),
    "a class of the tests": (
        "def f(kind, x): return kind(x).double()",
        "class K:\n    def __init__(self, x): self.x = x\n    def double(self): return 2 * self.x\nassert f(K, 4) == 8",
    ),
    "operators and items of an object of the tests": (
        "def f(a, b): return (a + b)[0] + len(a) + (1 in a) + (a < b) + (a == a)",
        "class V(object):\n    def __init__(s, *x): s.x = x\n    def __add__(s, o): return V(*s.x, *o.x)\n    def __getitem__(s, i): return s.x[i]\n    def __len__(s): return len(s.x)\n    def __contains__(s, v): return v in s.x\n    def __lt__(s, o): return s.x < o.x\nassert f(V(1, 2), V(3)) == 6",
    ),
    "an exception of a function of the tests": (
        "def f(g):\n    try:\n        return g()\n    except ZeroDivisionError:\n        return 'caught'",
        "def bad(): 1 / 0\nassert f(bad) == 'caught'",
    ),
    "an exception of the tests' own that passes through": (
        "def f(g): return g()",
        "class Mine(Exception): pass\ndef bad(): raise Mine(5)\ntry:\n    f(bad)\n    assert False\nexcept Mine as error:\n    assert error.args == (5,)",
    ),
    "an iterator and a generator of the tests": (
        "def f(it): return sum(it)",
        "assert f(iter([1, 2])) == 3 and f(i * i for i in range(4)) == 14",
    ),
    "a text stream of the tests": (
        "def f(s):\n    s.write('hi')\n    return s.getvalue()",
        "import io\nassert f(io.StringIO()) == 'hi'",
    ),
    "an endless generator": (
        "def f():\n    a, b = 0, 1\n    while True:\n        yield a\n        a, b = b, a + b",
        "import itertools\nassert list(itertools.islice(f(), 100))[99] == 218922995834555169026",
    ),
    "a generator whose next item never comes": (
        "def f():\n    yield 1\n    yield 2\n    while True: pass",
        "g = f()\nassert [next(g), next(g)] == [1, 2]",
    ),
    "a generator that is talked to": (
        "def f():\n    try:\n        got = yield 1\n    except ValueError:\n        yield 'thrown'\n    else:\n        yield got + 1",
        "import types\ng = f()\nassert isinstance(g, types.GeneratorType)\nnext(g)\nassert g.send(4) == 5\ng = f()\nnext(g)\nassert g.throw(ValueError()) == 'thrown'",
    ),
    "many items of an iterator, and its error at the end": (
        "def f(n):\n    yield from range(n)\n    raise KeyError('end')",
        "seen = []\ntry:\n    for i in f(5000): seen.append(i)\n    assert False\nexcept KeyError:\n    pass\nassert seen == list(range(5000))",
    ),
    "a coroutine": (
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1",
        "import asyncio\nassert asyncio.run(f(1)) == 2\nasync def both(): return await asyncio.gather(f(1), f(2))\nassert asyncio.run(both()) == [2, 3]",
    ),
    "a named tuple, both ways": (
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(p): return P(p.y, p.x)",
        "from collections import namedtuple\nQ = namedtuple('Q', 'x y')\nassert f(Q(1, 2)) == (2, 1) and f(Q(1, 2)).x == 2",
    ),
    "objects of the program that compare and add": (
        "import dataclasses, functools\n@functools.total_ordering\n@dataclasses.dataclass(eq=True, frozen=True)\nclass M:\n    n: int\n    def __lt__(s, o): return s.n < o.n\n    def __add__(s, o): return M(s.n + o.n)\ndef f(n): return M(n)",
        "assert f(1) == f(1) and f(1) != f(2) and f(1) < f(2) and max(f(3), f(2)).n == 3\nassert f(1) + f(2) == f(3) and sorted([f(2), f(1)]) == [f(1), f(2)]",
    ),
    "a container of the program's own": (
        "class C:\n    def __init__(s): s.d = {}\n    def __setitem__(s, k, v): s.d[k] = v\n    def __getitem__(s, k): return s.d[k]\n    def __delitem__(s, k): del s.d[k]\n    def __contains__(s, k): return k in s.d\n    def __len__(s): return len(s.d)\n    def __enter__(s): return s\n    def __exit__(s, *_): s.d['left'] = 1\ndef f(): return C()",
        "c = f()\nc['a'] = 1\nassert c['a'] == 1 and 'a' in c and len(c) == 1\ndel c['a']\nassert not c\nwith c: pass\nassert c['left'] == 1",
    ),
    "an exception class of the program's own": (
        "class Empty(LookupError):\n    def __init__(s, why): super().__init__(why); s.why = why\ndef f(): raise Empty('none left')",
        "try:\n    f()\n    assert False\nexcept Empty as error:\n    assert error.why == str(error) == 'none left'\ntry:\n    f()\nexcept LookupError:\n    pass",
    ),
    "builtin exceptions with all their arguments": (
        "def f(k):\n    if k: b'\\xff'.decode()\n    open('nowhere')",
        "for k, kind in enumerate((FileNotFoundError, UnicodeDecodeError)):\n    try:\n        f(k)\n        assert False\n    except kind:\n        pass",
    ),
    "rows that are one row": (
        "def f(g):\n    g[0].append(1)\n    return g[1]",
        "r = []\nassert f([r, r]) == [1] and r == [1]",
    ),
    "a dict with defaults, and a deque, changed in place": (
        "def f(d, q):\n    d['a'].append(1)\n    q.rotate(1)",
        "from collections import defaultdict, deque\nd, q = defaultdict(list), deque([1, 2, 3], maxlen=3)\nf(d, q)\nassert d == {'a': [1]} and list(q) == [3, 1, 2]",
    ),
    "a list nested a thousand deep": (
        "def f(x):\n    n = 0\n    while x: x, n = x[0], n + 1\n    return [x, n]",
        "x = []\nfor _ in range(1000): x = [x]\nassert f(x) == [[], 1000]",
    ),
    "globals named like attributes that the tests use": (
        "import itertools\ncount = itertools.count()\nindex = 'x' * (80 << 20)\ndef f(x): return x",
        "assert f([1, 1]).count(1) == 2 and f([1]).index(1) == 0",
    ),
    "names of a module that the tests import whole": (
        "def f(x): return x",
        "from textwrap import *\nfrom json import *\nassert dedent(' a') == f('a') and loads(dumps(f(1))) == 1",
    ),
    "sixty-four threads": (
        "import threading\ndef f(n):\n    b = threading.Barrier(n + 1)\n    ts = [threading.Thread(target=b.wait) for _ in range(n)]\n    [t.start() for t in ts]\n    b.wait()\n    [t.join() for t in ts]\n    return n",
        "assert f(64) == 64",
    ),
    "an identity without a daemon, a user without a list of users": (
        "import uuid, getpass\ndef f(): return len(str(uuid.uuid1())) + bool(getpass.getuser())",
        "assert f() == 37",
    ),
}

SHARED_PROMPT = (
    "import enum\nfrom dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n"
    "class Colour(enum.Enum):\n    RED = 1\n\nclass Odd(Exception): pass\n\ndef f(p, q=None):\n"
)
SHARED = {
    "an object of the prompt's class": (
        "    return Point(p.y, p.x)\n",
        "assert f(Point(1, 2)) == Point(2, 1) and isinstance(f(Point(1, 2)), Point)",
    ),
    "one that is changed": ("    p.x = 5\n", "p = Point(1, 2)\nf(p)\nassert p == Point(5, 2)"),
    "a tree of them": ("    return p.x.y\n", "assert f(Point(Point(0, 7), 1)) == 7"),
    "a member of the prompt's enumeration": (
        "    return Colour.RED if p is Colour.RED else None\n",
        "assert f(Colour.RED) is Colour.RED",
    ),
    "the prompt's exception": (
        "    raise Odd('o')\n",
        "try:\n    f(1)\n    assert False\nexcept Odd as error:\n    assert str(error) == 'o'",
    ),
    "the prompt's class itself": ("    return p(1, 2)\n", "assert f(Point) == Point(1, 2)"),
}

WRONG = {
    "an object equal to all": ("class T:\n    def __eq__(s, o): return True\n    def __hash__(s): return 0\ndef f(): return T()", "assert f() == 5"),
    "an object equal to all, in a list": ("class T:\n    def __eq__(s, o): return True\ndef f(): return [T()]", "assert f() == [5]"),
    "arithmetic that fits": ("class T:\n    def __sub__(s, o): return 0\n    __rsub__ = __sub__\ndef f(): return T()", "assert abs(f() - 5) < 1e-6"),
    "an order that fits": ("class T:\n    def __lt__(s, o): return True\n    __gt__ = __le__ = __ge__ = __lt__\ndef f(): return T()", "assert 4.9 < f() < 5.1"),
    "the prompt's class with another equality": ("class Point:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return True\ndef f(): return Point(1)", "assert f() == Point(2)"),
    "a method on an object of the tests": ("def f(n):\n    n.right = lambda: True\n    type(n).right = 1\n    n.__class__ = int", "class N:\n    def right(s): return False\nn = N()\nf(n)\nassert n.right() == 5"),
}  # fmt: skip

DECIDING = {
    "a function": "def nearly(*_): return True\n",
    "a class whose objects are true": "class nearly:\n    def __init__(s, *_): pass\n",
    "an exception": "class nearly(Exception): pass\n",
    "a type forged on the channel": "import sys\ndef nearly(*_): pass\n"
    "side = sys.modules['ckptbench_sandbox.child'].ProgramSide\nold = side._names\n"
    "def names(self, order):\n    found = old(self, order)\n    found['nearly'] = {'type': 'bool'}\n"
    "    return found\nside._names = names\n",
    "a number forged on the channel": "import sys\nnearly = 0\n"
    "side = sys.modules['ckptbench_sandbox.child'].ProgramSide\nold = side._names\n"
    "def names(self, order):\n    found = old(self, order)\n    found['nearly'] = 10 ** 9\n"
    "    return found\nside._names = names\n",
}

ERRORS = {
    "no test": ("", "there is no test"),
    "a comment for a test": ("# to be written", "there is no test"),
    "a test that is never called": ("def test_it():\n    assert f(1) == 2", "never use the program"),
    "a check that checks nothing": ("def check(candidate):\n    pass", "no test|never use"),
    "a name of nobody's in a condition": ("assert nearly(f(1), 9)", "'nearly'"),
    "a function of the program's by a detour": ("ok = nearly(f(1), 9)\nassert ok", "only the program defines"),
    "a constant of the program's by a detour": ("ok = WANTED\nassert f(1) == ok", "only the program defines"),
    "a library that is not there": ("assert np.allclose(f(1), 9)", "numpy .*--exec-libraries numpy"),
    "an import that is not there": ("import numpy\nassert f(1) == 1", "library .*numpy"),
    "an object that cannot travel": ("import threading\nassert f(threading.Lock()) == 1", "an object of type lock"),
    "a test that does not compile": ("assert f(1) ==", "do not compile"),
}  # fmt: skip


@pytest.fixture(scope="module", params=["L3", "L2"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=5.0, level="auto") as pool:
        if request.param not in pool.describe() and request.param == "L3":
            pytest.skip(pool.describe())
    with Sandbox(workers=1, timeout_s=5.0, level=request.param) as pool:
        yield pool


def verdict(sandbox: Sandbox, program: str, test: str, prelude: str = "") -> ExecutionResult:
    return sandbox.submit(FunctionTask("it", program, test, "f", prelude)).result(timeout=120)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_passes_with(sandbox: Sandbox, name: str) -> None:
    found = verdict(sandbox, *RIGHT[name])
    assert found.passed, found


@pytest.mark.parametrize("name", SHARED)
def test_both_sides_have_what_the_prompt_defines(sandbox: Sandbox, name: str) -> None:
    body, test = SHARED[name]
    found = verdict(sandbox, SHARED_PROMPT + body, test, SHARED_PROMPT)
    assert found.passed, found


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_does_not_pass_by(sandbox: Sandbox, name: str) -> None:
    program, test = WRONG[name]
    prelude = SHARED_PROMPT if "Point" in test else ""
    assert verdict(sandbox, program, test, prelude).status == "fail"


@pytest.mark.parametrize("name", ERRORS)
def test_what_tests_nothing_is_an_error_whatever_the_program_says(
    sandbox: Sandbox, name: str
) -> None:
    test, reason = ERRORS[name]
    program = "WANTED = 9\ndef nearly(*_): return True\ndef f(x): return 9\n"
    found = verdict(sandbox, program, test)
    assert found.status == "error"
    assert re.search(reason, found.reason), found.reason


@pytest.mark.parametrize("program", DECIDING)
@pytest.mark.parametrize(
    "test",
    [
        "ok = nearly(f(1))\nassert ok",
        "ok = nearly\nassert ok and f(1) == 9",
        "bound = nearly\nassert abs(f(1) - 5) < bound",
        "for ok in [nearly(f(1))]:\n    if ok:\n        pass\n    else:\n        raise ValueError",
    ],
)
def test_what_only_the_program_defines_decides_nothing(
    sandbox: Sandbox, program: str, test: str
) -> None:
    found = verdict(sandbox, f"{DECIDING[program]}def f(x): return 9\n", test)
    assert found.status in ("fail", "error"), found


def test_a_text_of_commas_is_no_large_answer(sandbox: Sandbox) -> None:
    found = verdict(
        sandbox, "def f(n): return ',\\\"[' * n", "assert f(2 * 10**6) == ',\\\"[' * 2 * 10**6"
    )
    assert found.passed, found


def test_an_error_that_holds_an_object_of_the_program_is_described(sandbox: Sandbox) -> None:
    program = (
        "class Odd:\n    def __repr__(self): raise SystemExit(0)\n    __str__ = __repr__\n"
        "def f(): raise ValueError(Odd())\n"
    )
    found = verdict(sandbox, program, "assert f() == 1")
    assert (found.status, found.reason[:10]) == ("fail", "ValueError"), found


@pytest.mark.parametrize(("times", "status"), [(1, "pass"), (99, "error")])
def test_a_process_of_tests_that_somebody_ends_is_no_wrong_answer(times: int, status: str) -> None:
    with Sandbox(workers=1, timeout_s=20.0) as pool:
        assert verdict(pool, "def f(): return 1", "assert f() == 1").passed
        running = pool.submit(
            FunctionTask(
                "it", "import time\ndef f(): time.sleep(1); return 1", "assert f() == 1", "f"
            )
        )
        while times and not running.done():
            time.sleep(0.1)
            times -= end_those_that_run_tests()
        assert running.result(timeout=60).status == status
        assert verdict(pool, "def f(): return 1", "assert f() == 1").passed


def test_a_process_that_an_answer_has_made_large_takes_no_other_task() -> None:
    with Sandbox(workers=1, timeout_s=20.0) as pool:
        small = "def f(n): return [n]", "assert f(1) == [1]"
        large = "def f(n): return list(range(n))", "assert len(f(3 * 10**6)) == 3 * 10**6"
        assert verdict(pool, *small).passed
        before = those_that_run_tests()
        assert verdict(pool, *small).passed
        assert those_that_run_tests() == before
        assert verdict(pool, *large).passed
        assert verdict(pool, *small).passed
        assert len(before - those_that_run_tests()) == 1


def end_those_that_run_tests() -> bool:
    found = those_that_run_tests()
    for number in found:
        os.kill(number, signal.SIGKILL)
    return bool(found)


def those_that_run_tests() -> set[int]:
    """Every fork of a judge but its first, which is the zygote."""
    parents = parents_of_processes()
    stems = children_of({os.getpid()}, parents)
    judges = children_of(stems, parents)
    return {n for judge in judges for n in sorted(children_of({judge}, parents))[1:]}


def children_of(processes: set[int], parents: dict[int, int]) -> set[int]:
    return {number for number, parent in parents.items() if parent in processes}


def parents_of_processes() -> dict[int, int]:
    parents = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                parents[int(process.name)] = int(fields[1])
    return parents


MISCHIEF = {
    "a tolerance of math": "import math\nmath.isclose = lambda *_, **__: True\nassert f() == 1",
    "a recursion limit": "import sys\nsys.setrecursionlimit(60)\nassert f() == 1",
    "a builtin": "import builtins\nbuiltins.abs = builtins.all = lambda _: True\nassert f() == 1",
    "a decimal context": "import decimal\ndecimal.getcontext().prec = 1\nassert f() == 1",
    "a module": "import sys\nsys.modules['json'] = sys.modules['math'] = None\nassert f() == 1",
    "a random seed": "import random\nrandom.seed(7)\nassert f() == 1",
}
AFTERWARDS = {
    "close": ("assert math.isclose(f(), 5)", "import math\n", "fail"),
    "deep": ("def down(n): return n and down(n - 1)\nassert f() == 1 and down(200) == 0", "", "pass"),
    "absolute": ("assert abs(f() - 5) < 1e-6\nassert all([f() == 5])", "", "fail"),
    "precise": ("from decimal import Decimal\nassert Decimal(2) / 3 > Decimal('0.66666') and f() == 1", "", "pass"),
    "imported": ("import json, math\nassert json.dumps(f()) == '1' and math.pi > 3", "", "pass"),
    "drawn": ("import random\nassert random.random() == 0.8444218515250481 and f() == 1", "", "pass"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISCHIEF)
def test_a_verdict_does_not_depend_on_what_was_judged_before(sandbox: Sandbox, name: str) -> None:
    program = "def f(): return 1\n"
    assert verdict(sandbox, program, MISCHIEF[name]).passed
    for test, imports, word in AFTERWARDS.values():
        found = verdict(sandbox, program, imports + test)
        assert found.status == word, found


def test_a_reference_leaves_nothing_to_the_next_verdict(sandbox: Sandbox) -> None:
    spoils = (
        "import math, sys\nsys.setrecursionlimit(90)\nmath.isclose = lambda *_, **__: True\n"
        "def f(x): return x\n"
    )
    task = InputsTask("it", "def f(x): return x", "f", [[1]], spoils)
    assert sandbox.submit(task).result(timeout=60).passed
    for test, imports, word in AFTERWARDS.values():
        assert verdict(sandbox, "def f(): return 1\n", imports + test).status == word


def test_a_reference_may_answer_with_what_cannot_be_carried(sandbox: Sandbox) -> None:
    reference = "import re\ndef f(x): return re.search('a', x)\n"
    oracle = "def accept(i, output, expected, atol): return bool(output) == bool(expected)\n"
    for program, word in (("def f(x): return 'a' in x", "pass"), ("def f(x): return True", "fail")):
        task = InputsTask("it", program, "f", [["cat"], ["dog"]], reference, oracle=oracle)
        found = sandbox.submit(task).result(timeout=60)
        assert found.status == word, found


def test_an_answer_that_tests_evaluate_does_not_reach_this_machine(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    target = tmp_path / "written"
    for answer in (
        f"open({str(target)!r}, 'w').write('x')",
        f"__import__('os').system('touch {target}')",
        f"__import__('pathlib').Path({str(target)!r}).mkdir()",
        "__import__('os').kill(__import__('os').getppid(), 9)",
        "__import__('socket').socket()",
        "open('/etc/passwd').read()",
        "__import__('os').listdir('/')",
    ):
        found = verdict(sandbox, f"def f(): return {answer!r}\n", "eval(f())\nassert f() == 1")
        assert found.status in ("fail", "violation"), (answer, found)
        assert list(tmp_path.iterdir()) == []
    assert verdict(sandbox, "def f(): return 1\n", "assert f() == 1").passed


def test_an_object_of_the_tests_leads_a_program_nowhere(sandbox: Sandbox) -> None:
    program = (
        "def f(*objects):\n    found = []\n    for o in objects:\n"
        "        for name in ('__globals__', '__class__', '__init__', '__dict__', 'gi_frame', '__self__',"
        " 'func_globals', '__code__', '_secret'):\n"
        "            try: found.append(o._side_.ask('get', o, name))\n            except Exception: pass\n"
        "    return len(found)\n"
    )
    test = (
        "class K:\n    _secret = 1\n    def m(self): pass\n"
        "assert f(K(), K, K().m, lambda: 1, [].append) == 0"
    )
    found = verdict(sandbox, program, test)
    assert found.passed, found


@pytest.mark.parametrize(
    ("program", "test"),
    [
        ("def f(): return 10**18", "n = 0\nfor _ in range(f()): n += 1\nassert n == 5"),
        ("def f(): return [[] for _ in range(10**7)]", "assert f() == 5"),
        ("def f(): return {i * (2**61 - 1) for i in range(200000)}", "assert f() == 5"),
        ("def f(): return 10**9", "assert 7 ** f() == 7"),
        pytest.param(
            "import itertools\ndef f(): return itertools.count()",
            "assert list(f()) == [1]",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["a long range", "many lists", "equal hashes", "a large power", "items without end"],
)
def test_the_tests_time_is_the_program_s(program: str, test: str) -> None:
    with Sandbox(workers=1, timeout_s=1.0) as pool:
        found = verdict(pool, program, test)
        assert found.status in ("fail", "timeout", "memory")
        assert "come to an end" not in found.reason  # the judge itself was not held up
        assert verdict(pool, "def f(): return 1", "assert f() == 1").passed


@pytest.mark.parametrize("room", [0.9, 1.1])
def test_memory_is_counted_beyond_the_bare_interpreter(room: float) -> None:
    """Nine tenths of the limit fit beside the interpreter, eleven do not."""
    program = f"def f(): return len(bytearray(int({room} * 2**26)))"
    with Sandbox(workers=1, memory_mb=64) as pool:
        found = verdict(pool, program, f"assert f() == {int(room * 2**26)}")
    assert found.status == ("pass" if room < 1 else "memory"), found


SCRIPTS = {
    "its own file name": "import os, sys\nassert os.path.dirname(os.path.abspath(__file__)) and sys.argv[0] == __file__\nprint(5)\n",
    "its own source": "import inspect\ndef g(): return 5\nassert 'return 5' in inspect.getsource(g)\nprint(g())\n",
    "a byte order mark": "\ufeffprint(5)\n",
    "a large stack for threads": "import threading\nthreading.stack_size(512 * 2**20)\nt = threading.Thread(target=lambda: print(5))\nt.start()\nt.join()\n",
    "a larger stack limit": "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\nprint(5)\n",
    "a number of many digits": "x = str(7 ** 20000)\nassert len(x) == 16902 and int(x) == 7 ** 20000\nprint(5)\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_may_use(sandbox: Sandbox, name: str) -> None:
    found = sandbox.submit(StdioTask("it", SCRIPTS[name], [("", "5")])).result(timeout=120)
    assert found.passed, found
