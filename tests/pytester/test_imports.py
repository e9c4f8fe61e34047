"""Importing the plugin and asking pytest for help stay fast: no model library is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "datasets", "kiwipiepy", "numpy", "scipy", "pydantic", "ray")
OF_A_SESSION = ("ckptbench.session.session", "ckptbench.results.store")
# Other installed plugins may import what they like.
ALONE = "'-p', 'ckptbench.hooks', '-p', 'ckptbench.fixtures'"
TELL = (
    f"import json, sys; names = {HEAVY + OF_A_SESSION!r}; "
    "print('LOADED', json.dumps([name for name in names if name in sys.modules]))"
)


def loaded(code: str, folder: Path) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{TELL}"],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    line = next(line for line in run.stdout.splitlines() if line.startswith("LOADED"))
    found: list[str] = json.loads(line.removeprefix("LOADED "))
    return found


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import ckptbench", ()),
        ("import ckptbench.hooks, ckptbench.fixtures", ()),
        (f"import pytest; pytest.main(['--help', {ALONE}])", ()),
        (f"import pytest; pytest.main([{ALONE}])", OF_A_SESSION),
    ],
    ids=["the package", "the plugins", "pytest --help", "a session without benchmarks"],
)
def test_nothing_is_imported_that_is_not_needed(
    code: str, needed: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    assert loaded(code, tmp_path) == list(needed)


@pytest.mark.parametrize("checkpoint", ["", "'--checkpoint=demo-mlm',"])
@pytest.mark.parametrize("only", ["--collect-only", "--dry-run"])
def test_collecting_and_planning_load_no_model_library(
    checkpoint: str, only: str, tmp_path: Path
) -> None:
    found = loaded(
        "import pytest; "
        f"pytest.main(['--pyargs', 'ckptbench.benchmarks', {checkpoint} '{only}', {ALONE}])",
        tmp_path,
    )
    assert not {"torch", "transformers", "datasets", "ray"}.intersection(found)
