"""What a release hands out: the wheel, installed where this checkout is not, runs the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest
from run_folder import RunFolder

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("LICENSE", "README.md", "benchmarks", "fixtures", "plugin", "pyproject.toml")


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that has to succeed, without what this process was told."""
    hidden = ("PYTHONPATH", "PYTEST_ADDOPTS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    told = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**told, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy: building leaves files beside the sources."""
    copy = tmp_path_factory.mktemp("wheel") / "sources"
    copy.mkdir()
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", "..", ".", cwd=copy)
    (found,) = copy.parent.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, and all that it needs but this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    needed = folder / "needed"
    needed.mkdir()
    for site in (Path(entry) for entry in sys.path if entry.endswith("site-packages")):
        for package in site.iterdir():
            link = needed / package.name
            if not package.name.startswith(("ckptbench", "__editable__")) and not link.is_symlink():
                link.symlink_to(package)
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    (site / "needed.pth").write_text(f"{needed}\n")
    options = ("--quiet", "--no-deps", "--no-index")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=folder)
    return python


def test_the_suite_runs_from_the_wheel(python: Path, tmp_path: Path) -> None:
    where = "import ckptbench, ckptbench.fixtures; print(ckptbench.__file__, ckptbench.__version__)"
    file, found = run(python, "-c", where, cwd=tmp_path).split()
    assert Path(file).is_relative_to(python.parents[1])
    assert found == version("ckptbench")
    suite = ("--pyargs", "ckptbench.benchmarks", "--checkpoint=demo-mlm", "--run-id=wheel")
    run(python, "-m", "pytest", *suite, "--report=html,md", cwd=tmp_path)
    wheel = RunFolder(tmp_path / "results/wheel")
    assert {"real@1", "real@5", "lambada@1"} <= wheel.scores.keys()
    assert wheel.summary["complete"]
    page = (tmp_path / "results/wheel/report.html").read_text(encoding="utf-8")
    assert "<style>" in page
    assert "real@1" in page


def test_the_command_comes_with_it(python: Path, tmp_path: Path) -> None:
    assert "compare" in run(python.parent / "ckptbench", "--help", cwd=tmp_path)
