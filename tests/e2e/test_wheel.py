"""What a release hands out: the wheel, installed where this checkout is not, runs the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from run_folder import RunFolder

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("LICENSE", "README.md", "benchmarks", "configs", "fixtures", "plugin", "pyproject.toml")


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """The output of a command that ends as it has to, without what this process was told."""
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
    assert done.returncode == status, f"{command}\n{done.stdout}"
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


def environment(folder: Path, wheel: Path, packages: Iterable[Path]) -> Path:
    """The interpreter of an environment with the wheel, and links to packages for all it needs."""
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    needed = folder / "needed"
    needed.mkdir()
    for package in packages:
        link = needed / package.name
        if not package.name.startswith(("ckptbench", "__editable__")) and not link.is_symlink():
            link.symlink_to(package)
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    (site / "needed.pth").write_text(f"{needed}\n")
    options = ("--quiet", "--no-deps", "--no-index")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=folder)
    return python


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter where all is installed that is here, but this checkout."""
    sites = (Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    packages = (package for site in sites for package in site.iterdir())
    return environment(tmp_path_factory.mktemp("installed"), wheel, packages)


@pytest.fixture(scope="module")
def korean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter where `pip install 'ckptbench[korean]'` was all."""
    packages = sorted(required("ckptbench", "korean", set()))
    return environment(tmp_path_factory.mktemp("korean"), wheel, packages)


def required(name: str, extra: str, seen: set[str]) -> Iterator[Path]:
    """Files and folders of all that a distribution requires with one of its extras."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        needed = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if needed and requirement.name not in seen:
            seen.add(requirement.name)
            found = distribution(requirement.name)
            names = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
            yield from (Path(str(found.locate_file(name))) for name in names)
            yield from required(requirement.name, "", seen)


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


def test_with_korean_alone_one_word_runs_the_suite_and_finds_a_shipped_configuration(
    korean: Path, tmp_path: Path
) -> None:
    absent = "import importlib.util as u; print(*map(u.find_spec, ['lm_eval', 'xdist', 'peft']))"
    assert run(korean, "-c", absent, cwd=tmp_path).split() == ["None"] * 3
    command = korean.parent / "ckptbench"
    said = run(command, "run", "demo-mlm", "--eval-config", "quick", "--run-id=q", cwd=tmp_path)
    assert "Warning" not in said
    assert {"real@1", "lambada@1"} <= RunFolder(tmp_path / "results/q").scores.keys()
    assert "demo-mlm" in run(command, "list", cwd=tmp_path)


def test_run_is_pytest_on_the_suite(python: Path, tmp_path: Path) -> None:
    """The same answers, the same exit status: 1 with a drop, 4 for what cannot be used."""
    command = python.parent / "ckptbench"
    (tmp_path / "best.json").write_text('{"real@1": 0.9, "real@5": 0.95, "n": 232}', "utf-8")
    first, options = "demo-mlm/checkpoint-100", ("--limit=20", "-k", "real", "--baseline=best.json")
    suite = ("-m", "pytest", "--pyargs", "ckptbench.benchmarks", f"--checkpoint={first}")
    own = run(command, "run", first, *options, "--run-id=run", cwd=tmp_path, status=1)
    run(python, *suite, *options, "--run-id=pytest", "--no-resume", cwd=tmp_path, status=1)
    assert "regressed" in own
    results = tmp_path / "results"
    assert RunFolder(results / "run").outcomes == RunFolder(results / "pytest").outcomes
    mistyped = run(command, "run", first, "--limt=2", cwd=tmp_path, status=4)
    assert "did you mean '--limit'" in mistyped
