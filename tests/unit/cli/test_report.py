"""`ckptbench report`: what measured checkpoints say together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench.cli import main

PUBLISHED = Path(__file__).parents[2] / "data" / "published_curves.csv"
HIT, MISS = (1.0, 1.0), (0.0, 0.0)
MakeRun = Callable[..., Path]


def report(*arguments: object) -> int:
    return main(["report", *map(str, arguments)])


def outcomes(hits: int, of: int = 100) -> dict[str, list[Any]]:
    return {f"s{i:03d}": [HIT if i < hits else MISS] for i in range(of)}


@pytest.fixture
def curve(tmp_path: Path, make_run: MakeRun) -> Path:
    checkpoints = {"checkpoint-9": 20, "checkpoint-10": 70, "checkpoint-11": 72}
    runs = {name: outcomes(hits) for name, hits in checkpoints.items()}
    return make_run(tmp_path / "sweep", runs)


def test_a_run_is_a_table_with_the_best_marked_and_recommended(
    curve: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(curve) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "base: 3 checkpoints"
    assert lines[1].split()[:3] == ["checkpoint", "step", "real@1"]
    names = [line.split()[0] for line in lines[2:5]]
    assert names == ["checkpoint-9", "checkpoint-10", "checkpoint-11"]
    assert "72.00%*" in lines[4]
    assert [line.endswith("recommended") for line in lines[2:5]] == [False, False, True]


def test_20_of_the_33_published_composites_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(PUBLISHED, "--n", "1536=2400,2048=3200") == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("20 reported composites disagree with their parts:")
    listed = lines[start + 2 : lines.index("", start)]
    assert len(listed) == 20
    assert listed[0].split() == ["mlm_v2", "checkpoint-65", "0.6190", "0.6143", "+0.0047"]


def test_eval_results_of_two_runs_are_side_by_side(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for name in ("left", "right"):
        folder = make_run(tmp_path / name, {"checkpoint-5": outcomes(50)}, run=name)
        paths.append(folder / "checkpoint-5_eval_results.json")
    assert report(*paths) == 0
    printed = capsys.readouterr().out
    assert "left: 1 checkpoint" in printed
    assert "right: 1 checkpoint" in printed


def test_text_is_written_as_verbose_prints_it(
    tmp_path: Path, curve: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(curve, "-v", "--format", "text", "-o", tmp_path / "out") == 0
    assert (tmp_path / "out" / "report.txt").read_text("utf-8") == capsys.readouterr().out


def test_html_and_markdown_are_written(tmp_path: Path, curve: Path) -> None:
    assert report(curve, "--format", "html,md", "-o", tmp_path / "out") == 0
    suffixes = {path.suffix for path in (tmp_path / "out").iterdir()}
    assert {".html", ".md"} <= suffixes


def test_weights_make_another_composite(curve: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(curve, "--weights", "real@1=0.5,real@5=0.5") == 0
    assert "score" in capsys.readouterr().out.splitlines()[1].split()
    assert report(curve, "--weights", "real@1=0.5") == 2
    assert "sum to 0.5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "html"], "needs a folder"),
        (["--n", "5"], "is for a CSV"),
    ],
)
def test_options_without_what_they_need_are_refused(
    curve: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(curve, *arguments) == 2
    assert told in capsys.readouterr().err


def test_formats_and_counts_that_are_none_are_usage_errors(
    curve: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, told in ((["--format", "pdf"], "'pdf'"), (["--n", "base=x"], "'base=x'")):
        with pytest.raises(SystemExit) as caught:
            report(curve, *arguments)
        assert caught.value.code == 2
        assert told in capsys.readouterr().err
