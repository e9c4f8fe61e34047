"""`ckptbench plan`: what it takes from results, what it prints, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ckptbench.cli import main
from ckptbench.gate.planning import Shares, Target, by_flips
from ckptbench.results.store import RunStore
from ckptbench.scores.reducers import PassAtK

MakeRun = Callable[..., Path]


def plan(*arguments: object) -> int:
    return main(["plan", *map(str, arguments)])


def rows(printed: str) -> list[list[str]]:
    """The cells of the printed tables, without their headers."""
    cells = [re.split(r" {2,}", line.strip()) for line in printed.splitlines()]
    return [row for row in cells if len(row) > 1 and row[0] not in ("flips", "trials")]


@pytest.fixture
def before(tmp_path: Path, make_run: MakeRun) -> Path:
    """200 samples in 100 clusters, 120 passed at 1; the two of a cluster agree."""
    outcomes = {f"s{i:03}": [(float(i < 120), 1.0)] for i in range(200)}
    clusters = {f"s{i:03}": f"c{i // 2:03}" for i in range(200)}
    return make_run(tmp_path / "before", {"c-1": outcomes}, clusters=clusters)


@pytest.fixture
def after(tmp_path: Path, make_run: MakeRun) -> Path:
    """The same samples, of which 10 flipped."""
    outcomes = {f"s{i:03}": [(float(i < 115 or i >= 195), 1.0)] for i in range(200)}
    clusters = {f"s{i:03}": f"c{i // 2:03}" for i in range(200)}
    return make_run(tmp_path / "after", {"c-2": outcomes}, clusters=clusters)


@pytest.fixture
def code(tmp_path: Path, make_run: MakeRun) -> Callable[..., Path]:
    """A run of pass@k over 60 problems of so many trials."""

    def made(name: str, trials: int, seed: int, ks: tuple[int, ...] = (1, 5)) -> Path:
        rng = np.random.default_rng(7)
        chances = rng.beta(0.5, 0.5, 60)
        rng = np.random.default_rng(seed)
        passed = {
            f"p{i:02}": [(float(v),) for v in rng.random(trials) < chance]
            for i, chance in enumerate(chances)
        }
        return make_run(tmp_path / name, {name: passed}, protocol="own/plain", reducer=PassAtK(ks))

    return made


def test_without_a_baseline_the_flips_are_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan("--drop", 2) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("to find a true drop of 2 pp in 80% of comparisons: tolerance 1 pp")
    expected = by_flips(Target(0.05, 0.01, 0.8, drop=0.02), [(f, "") for f in (0.03, 0.06, 0.12)])
    assert rows(printed) == [
        [name, f"{row.needed:,}"] for name, row in zip(("3%", "6%", "12%"), expected, strict=True)
    ]


def test_every_option_enters_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--drop 3 --power 0.9 --alpha 0.01 --metrics 4 --tolerance 0.5 --flips 4.5,20"
    assert plan(*options.split()) == 0
    printed = capsys.readouterr().out
    assert (
        "drop of 3 pp in 90% of comparisons: tolerance 0.5 pp, alpha 0.01 over 4 tests" in printed
    )
    expected = by_flips(Target(0.0025, 0.005, 0.9, drop=0.03), [(0.045, ""), (0.2, "")])
    assert rows(printed) == [
        ["4.5%", f"{expected[0].needed:,}"],
        ["20%", f"{expected[1].needed:,}"],
    ]


def test_a_baseline_gives_shares_clusters_and_the_number_of_tests(
    before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan("--drop", 5, "--baseline", before, "--metric", "real@1") == 0
    printed = capsys.readouterr().out
    assert "alpha 0.05 over 2 tests" in printed
    title = re.search(
        r"real@1 \(real/whole-word\): 60.00% of 200 samples, design effect (.*)\n", printed
    )
    assert title is not None
    effect = float(title[1])
    assert effect == pytest.approx(2.0, abs=0.03)  # the two samples of a cluster are one
    expected = by_flips(
        Target(0.025, 0.01, 0.8, drop=0.05),
        [(0.03, "")],
        Shares(0.6, 200, 200 / 199 * 199 / 99 * 0.995),
    )
    first = rows(printed)[0]
    assert int(first[1].replace(",", "")) == pytest.approx(expected[0].needed, rel=0.02)
    assert first[2].endswith(" pp")


def test_a_baseline_file_says_the_same_as_its_run(
    before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = before.glob("*_baseline.json")
    plan("--drop", 5, "--baseline", before)
    of_run = capsys.readouterr().out
    plan("--drop", 5, "--baseline", file)
    assert capsys.readouterr().out == of_run


def test_two_results_give_the_flips_that_were_seen(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan("--drop", 5, "--baseline", before, "--against", after, "--metric", "real@1")
    seen = rows(capsys.readouterr().out)[-1]
    assert seen[0] == "5% (against c-2)"


def test_the_noise_floor_of_a_run_is_a_row(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    folder = make_run(tmp_path / "run", {"c": {f"s{i}": [(i % 2, 1.0)] for i in range(100)}})
    summary = json.loads((folder / "summary.json").read_text())
    summary["checkpoints"][0]["benchmarks"][0]["floor"] = {
        "samples": 50,
        "flipped": 1,
        "interval": [0.004, 0.1],
        "unanswered": 0,
        "other_batch_size": True,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    plan("--drop", 5, "--baseline", folder, "--metric", "real@1")
    assert rows(capsys.readouterr().out)[-1][0] == "2% (noise floor)"


def test_trials_are_planned_where_the_baseline_has_several(
    code: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = code("run", 4, seed=1)
    (file,) = run.glob("*_baseline.json")
    assert plan("--drop", 8, "--baseline", file, "--trials", 50, "--metric", "pass@1") == 0
    printed = capsys.readouterr().out
    assert "of 60 problems, 4 trials each" in printed
    assert "of two sides that differ by the draw alone" in printed
    assert [row[0] for row in rows(printed)] == ["4", "8", "16", "50"]
    needed = [int(row[2].replace(",", "")) for row in rows(printed)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > needed[-1]
    shares = re.search(r"(\d+)% of the score's variance is the draw of answers, (\d+)%", printed)
    assert shares is not None
    assert int(shares[1]) + int(shares[2]) == 100
    assert int(shares[1]) > 10


def test_two_results_tell_what_differs_beside_the_draw(
    code: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = code("one", 10, seed=1), code("two", 10, seed=2)
    plan("--drop", 8, "--baseline", one, "--metric", "pass@5")
    alone = rows(capsys.readouterr().out)
    plan("--drop", 8, "--baseline", one, "--against", two, "--metric", "pass@5")
    printed = capsys.readouterr().out
    assert "of two sides that differ as these two do, beside the draw" in printed
    # Their problems are the same: hardly more is needed than with the draw alone.
    need, needed = (int(found[0][2].replace(",", "")) for found in (alone, rows(printed)))
    assert need <= needed <= 1.6 * need


def test_what_cannot_be_planned_says_why(
    code: Callable[..., Path], before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan("--drop", 8, "--baseline", code("few", 6, seed=1), "--metric", "pass@5")
    assert "not planned: an estimate needs 10 trials a problem" in capsys.readouterr().out
    plan("--drop", 8, "--baseline", before, "--metric", "real@1", "--trials", 4)
    assert "with one trial a problem, the share of the draw" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_plot_is_drawn(
    tmp_path: Path, before: Path, after: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / f"plan.{ending}"
    assert plan("--drop", 5, "--baseline", before, "--against", after, "--plot", file) == 0
    assert f"wrote {file}" in capsys.readouterr().out
    drawn = file.read_bytes()
    if ending == "png":
        assert drawn.startswith(b"\x89PNG")
    else:
        for text in ("real@1 (real/whole-word)", "5% flips (against c-2)", "(dotted: 200)"):
            assert text in drawn.decode()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--drop 1", "a drop of 1 pp is within the tolerance of 1 pp"),
        ("--drop 2 --against x", "--against: needs a baseline"),
        ("--drop 2 --trials 5", "--trials: needs a baseline"),
        ("--drop 2 --metric real@1", "--metric: needs a baseline"),
        ("--drop 2 --plot plan.gif", "cannot write plan.gif"),
        (
            "--drop 2 --baseline BEFORE --metric real@2",
            "no metric named 'real@2' (did you mean 'real@5'?)",
        ),
        ("--drop 2 --baseline nowhere", "there is no such file or folder"),
    ],
)
def test_what_cannot_be_used_is_refused(
    before: Path, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(*options.replace("BEFORE", str(before)).split()) == 2
    assert told in capsys.readouterr().err


def test_several_checkpoints_are_too_many(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    both = {"s1": [(1.0, 1.0)], "s2": [(0.0, 0.0)]}
    folder = make_run(tmp_path / "sweep", {"c-1": both, "c-2": both})
    assert plan("--drop", 2, "--baseline", folder) == 2
    assert "holds 2 checkpoints; a plan takes one" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--drop=0", "--drop=x", "--flips=3,x", "--flips=101"])
def test_numbers_that_cannot_be_are_refused(option: str) -> None:
    with pytest.raises(SystemExit):
        plan("--drop", 2, option)


def test_a_store_without_a_summary_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RunStore(tmp_path / "killed").close()
    assert plan("--drop", 2, "--baseline", tmp_path / "killed") == 2
    assert "has not ended" in capsys.readouterr().err
