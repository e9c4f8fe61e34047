# ruff: noqa: E501  (programs read best a row each)
"""Programs that attack the verdict, the judge, the machine or the clock, at every level there is.

Each either gets a verdict that is no pass, or none of its mischief comes to anything; the sandbox
judges the next program all the same. Another collection of the same form is tried when
CKPTBENCH_HOSTILE names its file: `PROMPT`, `TEST` and `PROGRAMS`, rows of (name, what it does,
acceptable verdicts, completion), with `{guarded}` for a folder outside the scratch folder.
"""

from __future__ import annotations

import os
import random
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.sandbox import FunctionTask, Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")

PROMPT = 'def join(a, b):\n    """Return a followed by b."""\n'
TEST = (
    "def check(candidate):\n    assert candidate('x', 'yz') == 'xyz'\n"
    "    assert candidate([1], [2]) == [1, 2]\n    assert candidate(7, 8) == 15\n"
)
RIGHT = "    return a + b\n"
LIMITED = ("fail", "memory", "timeout")

HONEST = {
    "an event loop": "    import asyncio\n    async def f(): return a + b\n"
    "    return asyncio.run(f())\n",
    "a pool of threads": "    from concurrent.futures import ThreadPoolExecutor\n"
    "    with ThreadPoolExecutor(16) as pool:\n"
    "        return list(pool.map(lambda _: a + b, range(32)))[0]\n",
    "modules that link to libraries": "    import ssl, sqlite3, lzma, bz2, zoneinfo, uuid\n"
    + RIGHT,
    "a file of its own": "    open('t', 'w').write('x')\n    assert open('t').read() == 'x'\n"
    "    import tempfile\n    tempfile.TemporaryFile().close()\n" + RIGHT,
    "folders nobody may enter": "    import os\n    if not os.path.exists('d'):\n"
    "        os.makedirs('d/e')\n        os.mkdir('d/f', 0)\n        os.mkdir('g', 0)\n" + RIGHT,
    "a thread without end": "    import threading\n    def f():\n        while True: pass\n"
    "    threading.Thread(target=f).start()\n" + RIGHT,
    "signals it handles itself": "    import signal\n    signal.signal(signal.SIGALRM, print)\n"
    "    signal.setitimer(signal.ITIMER_REAL, 9)\n" + RIGHT,
}

FORGERS = {
    "an object equal to all": "    class T(list):\n        def __eq__(self, o): return True\n"
    "    return T()\n",
    "a type equal to all": "    class M(type):\n        def __eq__(self, o): return True\n"
    "        __hash__ = type.__hash__\n    return M('T', (), {})\n",
    "arithmetic that fits": "    class T:\n        def __sub__(self, o): return 0\n"
    "        def __bool__(self): return True\n        __rsub__ = __sub__\n    return T()\n",
    "answers ahead of the questions": "    import json, os, struct\n"
    "    d = json.dumps(['value', 'xyz', None]).encode()\n"
    "    for _ in range(4): os.write(3, struct.pack('=I', len(d)) + d)\n    return 0\n",
    "a channel that lies": "    return 0\nimport sys\n"
    "for name, module in list(sys.modules.items()):\n"
    "    if name.endswith('.candidate'):\n        module.encode = lambda v, r: {'handle': 0}\n",
    "no codec at all": "    return 0\nimport json\njson.dumps = lambda *a, **k: ''\n"
    "json.loads = lambda *a, **k: ['call']\n",
    "an assertion of its own": "    raise AssertionError\n",
    "the name of the verdict": "    class Stopped(BaseException): pass\n    raise Stopped('pass')\n",
    "an exception that exits": "    class E(Exception):\n"
    "        def __str__(self): raise SystemExit(0)\n    raise E\n",
    "an exit at the exit": "    import atexit, os\n    atexit.register(os._exit, 0)\n    return 0\n",
    "leaving through C": "    import ctypes\n    ctypes.CDLL(None).exit(0)\n",
    "a truncated message": "    import os\n    os.write(3, b'\\x10\\0\\0\\0[')\n    os._exit(0)\n",
    "a message without end": "    import os\n    os.write(3, b'\\xff\\xff\\xff\\xff')\n    return 0\n",
    "nesting without end": "    x = []\n    for _ in range(10**5): x = [x]\n"
    "    import sys\n    sys.setrecursionlimit(10**7)\n    return x\n",
    "itself": "    x = []\n    x.append(x)\n    return x\n",
    "an iterator without end": "    import itertools\n    return itertools.count()\n",
    "a very large number": "    return 1 << (1 << 30)\n",
    "tests in the frames": "    import sys\n    f, wanted = sys._getframe(), ''.join(('x', 'yz'))\n"
    "    while f.f_back:\n        f = f.f_back\n"
    "        if wanted in repr(f.f_locals) or wanted in repr(f.f_code.co_consts): return a + b\n"
    "    return 0\n",
    "tests in the threads": "    import sys\n"
    "    return a + b if 'candidate(' in repr(sys._current_frames()) else 0\n",
    "tests among the arguments": "    import sys\n"
    "    return a + b if 'xyz' in repr(sys.argv) + repr(sys.orig_argv) else 0\n",
    "tests in the environment": "    import os\n    return a + b if 'xyz' in repr(os.environ) else 0\n",
}

GREEDY = {
    "memory, slowly": "    x = []\n    while True: x.append(bytearray(10**6))\n",
    "memory, at once": "    import mmap\n    mmap.mmap(-1, 1 << 40)\n" + RIGHT,
    "memory, caught": "    x = []\n    while True:\n        try: x.append(bytearray(10**7))\n"
    "        except MemoryError: pass\n",
    "threads": "    import threading, time\n"
    "    for _ in range(9999): threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
    + RIGHT,
    "descriptors": "    import os\n    x = [os.dup(0) for _ in range(9999)]\n" + RIGHT,
    "one large file": "    open('f', 'wb').write(bytes(99 << 20))\n" + RIGHT,
    "many large files": "    for i in range(9999): open(f'f{i}', 'wb').write(bytes(8 << 20))\n"
    "    return 0\n",
    "many files": "    i = 0\n    while True:\n        i += 1\n        open(f'f{i}', 'w').close()\n",
    "time, deaf to signals": "    import signal\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
    "    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    while True: pass\n",
    "time, in C": "    import re\n    re.match('(a|a)+$', 'a' * 64 + 'b')\n" + RIGHT,
    "time, asleep": "    import select\n    select.select([], [], [])\n",
    "time, in many threads": "    import threading, hashlib\n    d = bytes(1 << 22)\n    def f():\n"
    "        while True: hashlib.sha256(d)\n    t = [threading.Thread(target=f) for _ in range(8)]\n"
    "    [x.start() for x in t]\n    [x.join() for x in t]\n",
    "time, before the first question": RIGHT + "while True: pass\n",
    "output": "    while True: print('y' * 65536)\n",
    "the stack": "    import sys\n    sys.setrecursionlimit(10**9)\n    def f(): return f()\n    f()\n",
}

LOUD = {
    "fork": "    import os\n    os.fork()\n",
    "spawn": "    import os\n    os.posix_spawn('/bin/true', ['true'], {})\n",
    "multiprocessing": "    import multiprocessing as m\n    m.Process(target=print).start()\n",
    "popen": "    import os\n    os.popen('true')\n",
    "vfork": "    import ctypes\n    ctypes.CDLL(None).syscall(58)\n",
    "exec": "    import os\n    os.execl('/bin/true', 'true')\n",
    "another ABI": "    import ctypes, mmap\n    m = mmap.mmap(-1, 4096, prot=7)\n"
    "    m.write(b'\\xb8\\x02\\0\\0\\0\\xcd\\x80\\xc3')\n"
    "    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\n",
    "a handler for the filter": "    import os, signal\n"
    "    signal.signal(signal.SIGSYS, lambda *_: None)\n    os.fork()\n",
    "a signal to the parent": "    import os\n    os.kill(os.getppid(), 9)\n",
    "a signal to the group": "    import os\n    os.killpg(0, 9)\n",
    "a signal to itself": "    import signal\n    signal.raise_signal(9)\n",
    "a queued signal": "    import ctypes, os\n    ctypes.CDLL(None).sigqueue(os.getppid(), 9, 0)\n",
    "a local socket": "    import socket\n    socket.socket(socket.AF_UNIX).connect('/run/x')\n",
    "a name looked up": "    import socket\n    socket.getaddrinfo('localhost', 80)\n",
    "a mount": "    import ctypes\n    ctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, 0)\n",
    "another's memory": "    import ctypes, os\n"
    "    ctypes.CDLL(None).process_vm_readv(os.getppid(), 0, 0, 0, 0, 0)\n",
}

REFUSED = {
    "reading": "open('{guarded}/secret.txt').read()",
    "writing": "open('{guarded}/victim.txt', 'w')",
    "appending": "open('{guarded}/victim.txt', 'a')",
    "creating": "open('{guarded}/new.txt', 'w')",
    "truncating": "os.truncate('{guarded}/victim.txt', 0)",
    "truncating by reading": "os.open('{guarded}/victim.txt', os.O_RDONLY | os.O_TRUNC)",
    "removing": "os.unlink('{guarded}/victim.txt')",
    "moving away": "os.rename('{guarded}/victim.txt', 'v')",
    "moving over": "open('v', 'w').close(); os.replace('v', '{guarded}/victim.txt')",
    "a hard link": "os.link('{guarded}/victim.txt', 'v')",
    "a soft link": "os.symlink('{guarded}/victim.txt', 'v')",
    "a pipe with a name": "os.mkfifo('{guarded}/pipe')",
    "a folder": "os.mkdir('{guarded}/new')",
    "mode": "os.chmod('{guarded}/victim.txt', 0o777)",
    "owner": "os.chown('{guarded}/victim.txt', 1, 1)",
    "time": "os.utime('{guarded}/victim.txt', (0, 0))",
    "attributes": "os.setxattr('{guarded}/victim.txt', 'user.a', b'b')",
    "listing": "os.listdir('{guarded}')",
    "the list of users": "open('/etc/passwd').read()",
    "its own maps": "open('/proc/self/maps').read()",
    "its parent's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "installed packages": "open('{site}/pytest/__init__.py').read()",
    "the standard library": "open(os.__file__, 'a')",
    "the scratch folder itself": "os.rmdir(os.getcwd())",
    "limits": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (999, 999))",
    "another's limits": "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "a session": "os.setsid()",
    "who is told of input": "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
    "a file in memory": "os.memfd_create('x')",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, -5)",
    "a later system call": "import ctypes; assert ctypes.CDLL(None).syscall(599) >= 0",
}


@pytest.fixture(scope="module", params=["L2", "L3"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=1.0, memory_mb=256, level=request.param) as box:
        try:
            box.describe()
        except CkptbenchError as error:
            pytest.skip(str(error))
        yield box


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    (tmp_path / "victim.txt").write_text("victim")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path


def state(folder: Path) -> list[tuple[str, int, int, int, bytes]]:
    return [
        (str(path), found.st_mode, found.st_uid, found.st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (found := path.stat())
    ]


def word(sandbox: Sandbox, completion: str) -> str:
    task = FunctionTask("it", PROMPT + completion, TEST, "join", PROMPT)
    verdict = sandbox.submit(task).result(timeout=120)
    assert verdict.status != "error", verdict.reason
    following = FunctionTask("next", PROMPT + RIGHT, TEST, "join", PROMPT)
    assert sandbox.submit(following).result().passed
    return verdict.status


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_may_do(sandbox: Sandbox, name: str) -> None:
    assert word(sandbox, HONEST[name]) == "pass"


@pytest.mark.parametrize("name", FORGERS)
def test_no_verdict_is_forged_by(sandbox: Sandbox, name: str) -> None:
    assert word(sandbox, FORGERS[name]) == "fail"


@pytest.mark.parametrize("name", GREEDY)
def test_there_is_an_end_to(sandbox: Sandbox, name: str) -> None:
    assert word(sandbox, GREEDY[name]) in LIMITED


@pytest.mark.parametrize("name", LOUD)
def test_a_program_is_ended_by(sandbox: Sandbox, name: str) -> None:
    if os.uname().machine != "x86_64" and name in ("vfork", "another ABI"):
        pytest.skip("written for x86-64")
    assert word(sandbox, LOUD[name] + RIGHT) == "violation"


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_comes_of(sandbox: Sandbox, guarded: Path, name: str) -> None:
    site = str(Path(pytest.__file__).parent.parent)
    act = REFUSED[name].replace("{guarded}", str(guarded)).replace("{site}", site)
    before = state(guarded)
    assert word(sandbox, f"    import os\n    {act}\n{RIGHT}") == "fail"
    assert state(guarded) == before
    assert sorted(os.listdir(guarded)) == ["secret.txt", "victim.txt"]


@pytest.mark.slow
def test_a_collection_of_others(guarded: Path) -> None:
    path = os.environ.get("CKPTBENCH_HOSTILE")
    if not path:
        pytest.skip("CKPTBENCH_HOSTILE does not name a collection")
    collection = runpy.run_path(path)
    programs = list(collection["PROGRAMS"])
    random.Random(os.getpid()).shuffle(programs)
    accepted = {name: words for name, _, words, _ in programs}
    before, wrong = state(guarded), {}
    for level in ("L2", "auto"):
        with Sandbox(level=level) as sandbox:  # type: ignore[arg-type]
            for name, verdict in sandbox.judge(
                FunctionTask(
                    name,
                    collection["PROMPT"] + completion.replace("{guarded}", str(guarded)),
                    collection["TEST"],
                    "add",
                    collection["PROMPT"],
                )
                for name, _, _, completion in programs
            ):
                if verdict.status not in accepted[name]:
                    wrong[f"{level} {name}"] = verdict
    assert wrong == {}
    assert state(guarded) == before


def test_as_somebody_without_privileges(guarded: Path) -> None:
    """What root may do must not be what the walls rest on, nor what they need."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else; this run has no privileges already")
    python = getattr(sys, "_base_executable", sys.executable)
    drop = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    paths = [path for path in sys.path if path]
    program = (
        f"{drop}; import sys; sys.path[:0] = {paths!r}; os.environ['TMPDIR'] = '/tmp'\n"
        "from ckptbench.fixtures.sandbox import Sandbox\n"
        "with Sandbox(workers=1) as box:\n    print(box.describe())\n"
    )
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120)
    if "PermissionError" in done.stderr or "ModuleNotFoundError" in done.stderr:
        pytest.skip("the interpreter or the project lies where only root may read")
    if "did not start" in done.stderr or "No such file" in done.stderr:
        pytest.skip("the interpreter lies where only root may run it")
    assert done.stdout.startswith(("sandbox: L2", "sandbox: L3")), done.stderr
