"""Numbers and facts as people read them."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench._util import text as words
from ckptbench.gate import units
from ckptbench.reports import phrases
from ckptbench.results.summary import Coverage, Summary
from ckptbench.scores.noise import noise_floor


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (words.percent(0.6778), "67.78%"),
        (words.percent(1.0), "100.00%"),
        (words.percent(None), "-"),
        (units.points(-0.0131), "-1.31 pp"),
        (units.points(0.042), "+4.20 pp"),
        (units.points(-0.00001), "+0.00 pp"),
        (units.size(-0.042), "4.20 pp"),
        (units.size(None), "-"),
        (units.value_interval((0.6588, 0.6962)), "[65.88, 69.62]"),
        (units.points_interval((-0.021, 0.0054)), "[-2.10, +0.54]"),
        (units.points_interval(None), "-"),
        (units.points(-0.024, "bits_per_byte"), "-0.024 bits/byte"),
        (units.size(1.5, "points"), "1.50 points"),
        (units.value(26.02, "perplexity"), "26.020"),
        (words.probability(0.00117), "p = 0.0012"),
        (words.probability(0.0000249), "p < 0.0001"),
        (words.counted(1, "error"), "1 error"),
        (words.counted(2400, "error"), "2,400 errors"),
        (words.listed(["a", "b", "c", "d", "e"]), "a, b, c and 2 more"),
        (words.listed(["a", "b"]), "a, b"),
    ],
)
def test_numbers(said: str, expected: str) -> None:
    assert said == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Coverage(2400, 2400), "2,400 of 2,400 scored"),
        (
            Coverage(2400, 2377, {"too_long": 3, "first_mention_out_of_window": 17}, 2, 1),
            "2,377 of 2,400 scored, 20 skipped (17 first_mention_out_of_window, 3 too_long), "
            "2 errors, 1 not run",
        ),
        (Coverage(28, 28, errors=4), "28 of 28 scored, 4 with errors in some trials"),
        (Coverage(4, 4, reachable=3), "4 of 4 scored, 3 reachable (75.00%)"),
        (Coverage(4, 0, errors=4, reachable=0), "0 of 4 scored, 4 errors, 0 reachable (0.00%)"),
    ],
)
def test_coverage_names_only_what_is_there(facts: Coverage, expected: str) -> None:
    assert phrases.coverage(facts) == expected


def test_korean_takes_two_columns_composed_or_decomposed() -> None:
    assert words.width("real@1") == 6
    assert words.width("한국어@1") == 8
    assert words.width(unicodedata.normalize("NFD", "한국어@1")) == 8
    assert words.padded("한국", 6) == "한국  "
    assert words.padded("한국", 6, right=True) == "  한국"


def test_a_flip_is_asked_again_by_a_command_that_a_shell_takes_as_it_is(
    make: SimpleNamespace,
) -> None:
    run = make.summary(make.checkpoint(spec="runs/한국어 모델"))
    command = phrases.rerun_command(run, "benchmarks/test_real_k.py::test_real_k[문단-003-2]")
    assert command == (
        "pytest 'benchmarks/test_real_k.py::test_real_k[문단-003-2]' "
        "'--checkpoint=runs/한국어 모델'"
    )


def test_a_run_of_several_checkpoints_names_each_spec_once(make: SimpleNamespace) -> None:
    # A glob is one spec; without all of them the items would have other ids.
    run = make.summary(
        make.checkpoint(name="a", spec="runs/*"),
        make.checkpoint(name="b", spec="runs/*"),
        make.checkpoint(name="c", spec="demo-mlm"),
    )
    assert phrases.rerun_command(run, "t.py::t[a-1]") == (
        "pytest 't.py::t[a-1]' '--checkpoint=runs/*' --checkpoint=demo-mlm"
    )


def test_stated_options_make_the_same_items_again(make: SimpleNamespace) -> None:
    run = make.summary(
        make.checkpoint(), rerun_options=("--checkpoint=demo-mlm", "--real-data=boolq.jsonl")
    )
    assert phrases.rerun_command(run, "t.py::t[1]") == (
        "pytest 't.py::t[1]' --checkpoint=demo-mlm --real-data=boolq.jsonl"
    )


def test_a_comparison_says_over_what_it_was_made(make: SimpleNamespace) -> None:
    scores = [make.score("real@1", 0.5, n=200), make.score("real@5", 0.7, n=200)]
    partly = [
        make.verdict("unchanged", make.paired("real@1", 0.5, 0.5, n=120)),
        make.verdict("unchanged", make.paired("real@5", 0.7, 0.7, n=120)),
    ]
    assert phrases.comparison_notes(make.result("real/w", *scores, verdicts=tuple(partly))) == (
        "real@1, real@5: compared over the 120 of 200 samples that the baseline has too",
    )
    numbers = [make.verdict("unchanged", make.point("real@1", 0.5, 0.5))]
    assert phrases.comparison_notes(make.result("real/w", *scores, verdicts=tuple(numbers))) == (
        "real@1: point comparison, not tested: the baseline gives neither n nor standard error",
    )


@pytest.mark.parametrize(("n", "shown"), [(20, "20"), (2400, "2,400"), (None, "not known")])
def test_the_n_of_a_baseline_of_numbers_is_its_own(
    make: SimpleNamespace, n: int | None, shown: str
) -> None:
    figures = replace(make.point("real@1", 0.5, 0.5), kind="unpaired", n=200, baseline_n=n)
    result = make.result(
        "real/w",
        make.score("real@1", 0.5, n=200),
        verdicts=(make.verdict("unchanged", figures),),
    )
    assert phrases.comparison_notes(result) == (
        f"real@1: unpaired comparison: the baseline has numbers only (its n: {shown})",
    )


def test_flips_are_counted_by_the_comparison_or_else_by_the_list(regressed: Summary) -> None:
    result = regressed.checkpoints[0].benchmarks[0]
    assert phrases.flips_heading(result) == "flips at real@1: 12 lost, 3 won"


def test_the_noise_floor_of_the_page_is_the_one_that_is_printed() -> None:
    floor = noise_floor([(place == 3, True) for place in range(100)])
    page = (Path(__file__).parents[3] / "docs/metrics.md").read_text(encoding="utf-8")
    result: Any = SimpleNamespace(floor=floor)
    assert f"\n{phrases.noise_floor(result)}\n" in page
