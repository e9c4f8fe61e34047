"""The commands of the other tests here are forks; they see what a process of their own would."""

from __future__ import annotations

import json
from typing import Any

import pytest
import warm

pytestmark = pytest.mark.skipif(warm.GPU, reason="where a GPU is, commands are no forks")
TELLS = """
import json, os, sys
from pathlib import Path

def test_it():
    name = os.environ["NAME"]
    found = {
        "folder": os.getcwd(),
        "variables": {n: v for n, v in os.environ.items() if n not in ("PATH", "NAME", "_")},
        "words": sys.argv,
        "path": sys.path,
        "flags": list(sys.flags),
        "input": sys.stdin.read(),
        "libraries": "torch" in sys.modules,
    }
    Path(name).write_text(json.dumps(found))
    raise AssertionError("of " + name)
"""


@pytest.mark.slow
def test_a_fork_has_the_words_folder_variables_and_streams_of_its_command(workspace: Any) -> None:
    (workspace.path / "within").mkdir()
    (workspace.path / "within/test_tells.py").write_text(TELLS)
    options = "-s -p no:cacheprovider test_tells.py"

    def told(command: str, name: str) -> dict[str, Any]:
        output = workspace.run(f"cd within; echo typed | {command} {options}", NAME=name).expect(1)
        assert f"AssertionError: of {name}" in output
        found: dict[str, Any] = json.loads((workspace.path / "within" / name).read_text())
        return found

    fork, process = told("pytest", "fork"), told(f"{workspace.binaries}/pytest", "process")
    assert (fork.pop("libraries"), process.pop("libraries")) == (True, False)
    assert fork == process
    assert (fork["input"], fork["folder"]) == ("typed\n", str(workspace.path / "within"))


@pytest.mark.slow
def test_forks_do_not_know_of_each_other(workspace: Any) -> None:
    code = "import os\ndef test_it():\n    assert os.environ.setdefault('SEEN', NAME) == NAME\n"
    for name in ("one", "two"):
        (workspace.path / f"test_{name}.py").write_text(code.replace("NAME", repr(name)))
    output = workspace.run("pytest -q test_one.py & pytest -q test_two.py; wait $!").expect(0)
    assert output.count("1 passed") == 2
