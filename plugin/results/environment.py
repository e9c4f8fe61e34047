"""What a number was measured with: versions, hardware, commit and command line.

Nothing is imported only to be described, and the process's environment variables, which may hold
secrets, are not read.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ..config.options import OPTIONS
from ..config.tracking_uri import URL_LOGIN

_LIBRARIES = ("torch", "transformers", "tokenizers", "kiwipiepy", "datasets", "numpy", "scipy")


def describe_environment(arguments: Sequence[str], folder: Path) -> dict[str, str]:
    """Strings by name; unknown ones are left out.

    Args:
        arguments: the command line without the program, such as `config.invocation_params.args`.
        folder: the working directory, whose git commit is recorded.
    """
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": str(os.cpu_count() or ""),
        **{name: _version(name) for name in ("ckptbench", "pytest", *_LIBRARIES)},
        **describe_accelerator(),
        "git_commit": git_commit(folder),
        "command": shlex.join(["pytest", *hide_secrets(arguments)]),
    }
    return {name: value for name, value in found.items() if value}


def describe_accelerator() -> dict[str, str]:
    """CUDA version and GPU names of this process, when it has already used them.

    Asking a GPU for its name would allocate memory on it, so a process without a model reports
    nothing: with pytest-xdist, call this in the workers.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    found = {"cuda": str(torch.version.cuda or "")}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        found["gpus"] = ", ".join(names)
    return {name: value for name, value in found.items() if value}


def git_commit(folder: Path) -> str:
    """The commit checked out in a folder, with `-dirty` when tracked files differ from it.

    Empty outside a repository, without git, or when git takes longer than five seconds.
    """
    command = ["git", "--no-optional-locks", "describe"]
    command += ["--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


_SECRET_OPTION = re.compile(
    r"--?[\w-]*(key|token|secret|password|credential|header)[\w-]*", re.IGNORECASE
)
# Our own options are secret only where they are declared so, whatever their names look like.
_PLAIN_OPTIONS = frozenset(
    f"--{prefix}{option.name}"
    for prefix in ("", "ckpt-")
    for option in OPTIONS
    if not option.secret
)
_SECRET_SETTINGS = frozenset(option.dest for option in OPTIONS if option.secret)


def hide_secrets(arguments: Sequence[str]) -> list[str]:
    """A command line whose keys, tokens, passwords and URL logins are replaced by `***`."""
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        secret = bool(_SECRET_OPTION.fullmatch(name)) and name not in _PLAIN_OPTIONS
        secret = secret or (name in _SECRET_SETTINGS and bool(equals))  # behind -o
        if hide_next and not argument.startswith("-"):
            shown.append("***")
        elif secret and equals:
            shown.append(f"{name}=***")
        else:
            shown.append(URL_LOGIN.sub("***", argument))
        hide_next = secret and not equals
    return shown


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
