"""No command replaces a file that it did not write; its own it writes again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckptbench.cli import main

MakeRun = Callable[..., Path]
REPORTS = ("report.html", "report.md", "report.txt")


def commands(tmp_path: Path, run: Path) -> dict[str, tuple[list[str], list[Path]]]:
    """Arguments of every command with an output, and what it writes."""
    r, out = str(run), tmp_path / "out"
    out.mkdir()
    file = out / "file.svg"
    reports = [out / name for name in REPORTS]
    return {
        "report": (["report", r, "-o", str(out), "--format=html,md,text"], reports),
        "compare --json": (["compare", r, r, f"--json={file}"], [file]),
        "compare --markdown": (["compare", r, r, f"--markdown={file}"], [file]),
        "baseline import": (["baseline", "import", r, "-o", str(file)], [file]),
        "plan": (["plan", "--drop=2", f"--plot={file}"], [file]),
    }


@pytest.mark.parametrize(
    "command", ["report", "compare --json", "compare --markdown", "baseline import", "plan"]
)
def test_a_file_of_another_kind_stays_without_force(
    command: str, tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    samples = {f"s{i:02d}": [(float(i % 2), 1.0)] for i in range(20)}
    run = make_run(tmp_path / "run", {"c-1": samples, "c-2": samples})
    if command != "report":
        run = make_run(tmp_path / "one", {"c-1": samples})
    arguments, files = commands(tmp_path, run)[command]
    for file in files:
        file.write_text("notes\n")
        assert main(arguments) == 2
        assert "exists already and is not a" in capsys.readouterr().err
        assert file.read_text() == "notes\n"
        file.unlink()
    assert main(arguments) == 0
    assert main(arguments) == 0, capsys.readouterr().err
    for file in files:
        file.write_text("notes\n")
    assert main([*arguments, "--force"]) == 0
    assert [file for file in files if file.read_text() == "notes\n"] == []
