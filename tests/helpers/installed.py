"""The wheel, and environments with it where this checkout is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

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


def build_wheel(folder: Path) -> Path:
    """The wheel of a copy: building leaves files beside the sources."""
    copy = folder / "sources"
    copy.mkdir()
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", "..", ".", cwd=copy)
    (found,) = folder.glob("*.whl")
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
    # Linked packages bring no commands.
    command = python.parent / "pytest"
    command.write_text(f"#!{python}\nimport sys, pytest\nsys.exit(pytest.console_main())\n")
    command.chmod(0o755)
    return python


def everything() -> Iterator[Path]:
    """Files and folders of all that is installed here."""
    for site in (Path(entry) for entry in sys.path if entry.endswith("site-packages")):
        yield from site.iterdir()


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
