"""`pytest` and `ckptbench` from a process that has imported the model libraries before.

torch, transformers and lm-eval take five seconds of processor time to import, and hundreds of
commands would each do so. Here a process imports them once, and each command is a fork of it, with
the arguments, folder, variables and streams of the command that was typed. ckptbench and pytest
themselves are imported by each command. Signals do not reach the fork: a test that sends some, or
sets variables that a library reads while it is imported, starts a process of its own.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from subprocess import PIPE
from typing import Any

COMMANDS = ("ckptbench", "pytest")
# What is typed: sends what a command is, and ends with the status that comes back.
TYPED = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as typed:
    typed.connect({address!r})
    command = [{command!r}, *sys.argv[1:]], os.getcwd(), dict(os.environ)
    socket.send_fds(typed, [json.dumps(command).encode()], [0, 1, 2])
    sys.exit(int(typed.recv(16) or 255))
"""


HERE = Path(sys.executable).parent
# What the libraries read when they are imported.
VARIABLES = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
GPU = Path("/dev/nvidiactl").exists()


@cache
def commands(binaries: Path = HERE) -> Path:
    """A folder with commands: forks of a process that ends with this one.

    CUDA cannot be used in a fork: where a GPU is, the commands are the environment's own.

    Args:
        binaries: of the Python environment whose commands these are; there is one process for each.
    """
    if GPU:
        return binaries
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    address = str(folder / "socket")
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("HF_", "PYTHON"))}
    process = subprocess.Popen(
        [str(binaries / "python"), __file__, address],
        env={**environment, **VARIABLES},
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for name in COMMANDS:
        command = str(binaries / name)
        text = TYPED.format(python=sys.executable, address=address, command=command)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def import_libraries() -> None:
    """What a local model needs; ckptbench imports each of them only when it does."""
    with suppress(ImportError):
        import lm_eval.evaluator  # noqa: F401
    import transformers.models.llama.modeling_llama
    import transformers.models.modernbert.modeling_modernbert  # noqa: F401

    if "anyio" in sys.modules:  # a plugin of pytest, which warns that it is here already
        sys.modules["anyio"].__doc__ = "PYTEST_DONT_REWRITE"
    gc.collect()
    gc.freeze()


def next_command(address: str) -> tuple[list[str], str, Mapping[str, str]]:
    """Returns in a fork, once for each command: its words, folder and variables."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            typed, _ = listener.accept()
            with typed:
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait need no waiting
                if os.fork():
                    continue
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                message, streams, _, _ = socket.recv_fds(typed, 2**20, 3)
                if command := os.fork():
                    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
                    typed.send(str(status % 256).encode())
                    os._exit(0)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            found: tuple[Any, ...] = tuple(json.loads(message))
            return found
    shutil.rmtree(Path(address).parent)  # whoever started this process has ended
    os._exit(0)


if __name__ == "__main__":
    import_libraries()
    sys.argv, folder, variables = next_command(sys.argv[1])
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    typed_as = Path(sys.argv[0])
    sys.path[0] = str(typed_as.parent)
    script, *_ = entry_points(group="console_scripts", name=typed_as.name)
    sys.exit(script.load()())
