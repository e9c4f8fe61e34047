"""What a number was measured with, without importing for it and without secrets."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from ckptbench.results.environment import describe_environment, git_commit, hide_secrets


def test_versions_platform_and_command(tmp_path: Path) -> None:
    found = describe_environment(["benchmarks", "--checkpoint=my runs/x"], tmp_path)
    assert found["ckptbench"] == version("ckptbench")
    assert found["pytest"] == pytest.__version__
    assert found["python"] == platform.python_version()
    assert found["torch"] == version("torch")
    assert found["command"] == "pytest benchmarks '--checkpoint=my runs/x'"
    assert all(isinstance(value, str) and value for value in found.values())


def test_describing_imports_no_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from ckptbench.results.environment import describe_environment\n"
        "describe_environment([], Path('.'))\n"
        "print([m for m in ('torch', 'transformers', 'numpy', 'pydantic') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"


def test_environment_variables_are_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    assert "hf_very_secret" not in str(describe_environment([], tmp_path))


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-m", "first")
    git(tmp_path, "tag", "v1")
    clean = git_commit(tmp_path)
    assert len(clean) == 40
    assert set(clean) <= set("0123456789abcdef")
    (tmp_path / "a.txt").write_text("b")
    assert git_commit(tmp_path) == f"{clean}-dirty"


def test_no_repository_and_no_git_are_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_commit(tmp_path) == ""
    monkeypatch.setenv("PATH", "")
    assert git_commit(tmp_path) == ""
    assert "git_commit" not in describe_environment([], tmp_path)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--api-key=sk-1"], ["--api-key=***"]),
        (["--api-key", "sk-1", "-q"], ["--api-key", "***", "-q"]),
        (["--use-token", "--checkpoint=x"], ["--use-token", "--checkpoint=x"]),
        (["--checkpoint=http://me:pw@host/v1"], ["--checkpoint=http://***@host/v1"]),
        (["--max-tokens", "512"], ["--max-tokens", "512"]),
        (["--ckpt-batch-tokens=2048"], ["--ckpt-batch-tokens=2048"]),
        (["-k", "token"], ["-k", "token"]),
    ],
)
def test_secrets_on_the_command_line_are_hidden(given: list[str], shown: list[str]) -> None:
    assert hide_secrets(given) == shown
