"""A run against a baseline: what is compared, with what, and how it is judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptbench.errors import CkptbenchError
from ckptbench.gate.baseline import (
    FORMAT,
    Baseline,
    BaselineScore,
    bare_baseline,
    baseline_benchmark,
    check_protocol,
    protocol_note,
    settings_note,
    unmatched_metrics,
)
from ckptbench.gate.judge import Measured, judge, judge_composite, tolerance_of
from ckptbench.scores.composite import composite
from ckptbench.scores.fold import fold
from ckptbench.scores.score import SampleValues

N = 400
WEIGHTS = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3}


def measured(protocol: str, *shares: float, primary: bool = True, lost: int = 0) -> Measured:
    """A benchmark whose first samples are right; `lost` of them are wrong at the first metric."""
    benchmark = protocol.partition("/")[0]
    metrics = tuple(f"{benchmark}@{k}" for k in (1, 5)[: len(shares)])
    values = np.array([[float(i < share * N) for share in shares] for i in range(N)])
    values[:lost, 0] = 0.0
    names = tuple(f"{benchmark}-{i:03}" for i in range(N))
    table = SampleValues(metrics, names, names, values)
    return Measured(benchmark, protocol, primary, table, fold(table))


def as_baseline(*benchmarks: Measured) -> Baseline:
    held = {
        m.protocol: baseline_benchmark(
            m.benchmark, m.protocol, primary=m.primary, dataset="", table=m.table, scores=m.scores
        )
        for m in benchmarks
    }
    return Baseline(FORMAT, "best", "f", {"seq_len": 512, "dtype": "fp32"}, "", "", held)


REAL = measured("real/whole-word", 0.6, 0.8)
LAMBADA = measured("lambada/greedy", 0.4)
BEST = as_baseline(REAL, LAMBADA)


def words(*run: Measured, baseline: Baseline = BEST) -> list[list[str]]:
    return [[verdict.word for verdict in each] for each in judge(run, baseline)]


# Who is compared with what


def named(*values: float) -> Measured:
    """A benchmark that names the values it gives for a sample; NaN where it gives none."""
    names = tuple(f"s{i}" for i in range(len(values)))
    table = SampleValues(("task f1",), names, names, np.array(values).reshape(-1, 1), by_name=True)
    return Measured("task", "task/v1", True, table, fold(table))


def test_a_metric_that_some_samples_never_had_is_not_judged() -> None:
    some = named(1.0, np.nan, 0.5, 1.0)
    assert words(some, baseline=as_baseline(some)) == [[]]


def test_a_metric_that_lost_samples_is_incomplete() -> None:
    """Otherwise it would pass for one that is only shown, and the gate would let it through."""
    before = as_baseline(named(1.0, 1.0, 0.5, 1.0))
    ((verdict,),) = judge([named(1.0, np.nan, 0.5, 1.0)], before)
    assert verdict.word == "incomplete"
    assert "1 of 4 samples have no value of it" in verdict.detail


def test_the_same_answers_are_unchanged() -> None:
    assert words(REAL, LAMBADA) == [["unchanged", "unchanged"], ["unchanged"]]


def test_each_metric_has_its_own_verdict_and_holm_covers_all_benchmarks() -> None:
    (real_1, real_5), (lambada_1,) = judge(
        [measured("real/whole-word", 0.6, 0.8, lost=20), LAMBADA], BEST
    )
    assert (real_1.word, real_5.word, lambada_1.word) == ("regressed", "unchanged", "unchanged")
    assert real_1.comparison is not None
    assert real_1.comparison.kind == "paired"
    assert real_1.comparison.p_worse is not None
    assert real_1.p_adjusted == pytest.approx(3 * real_1.comparison.p_worse)


def test_a_protocol_that_is_not_primary_is_judged_alone() -> None:
    origin = measured("real/origin", 0.6, 0.8, primary=False)
    baseline = as_baseline(REAL, origin)
    fallen = measured("real/origin", 0.6, 0.8, primary=False, lost=20)
    gated, ungated = judge([REAL, fallen], baseline)
    assert [v.word for v in ungated] == ["regressed", "unchanged"]
    assert [v.p_adjusted for v in ungated] == [None, None]
    assert [v.p_adjusted for v in gated] == [1.0, 1.0]


def test_what_the_baseline_lacks_has_no_verdict() -> None:
    assert words(REAL, LAMBADA, baseline=as_baseline(REAL)) == [["unchanged"] * 2, []]
    only_1 = as_baseline(measured("real/whole-word", 0.6))
    assert words(REAL, baseline=only_1) == [["unchanged"]]


def test_incomplete_coverage_is_incomplete_whatever_the_scores() -> None:
    (verdicts,) = judge([replace(REAL, incomplete="3 of 400 samples are errors")], BEST)
    assert {v.word for v in verdicts} == {"incomplete"}
    assert {v.detail for v in verdicts} == {"3 of 400 samples are errors"}


def test_a_score_that_does_not_exist_any_more_is_incomplete_with_its_reason() -> None:
    values = REAL.table.values.copy()
    values[0, 1] = np.nan
    table = replace(REAL.table, values=values)
    (verdicts,) = judge([replace(REAL, table=table, scores=fold(table))], BEST)
    assert [v.word for v in verdicts] == ["unchanged", "incomplete"]
    assert "does not exist for 1 of 400 samples" in verdicts[1].detail


def test_other_samples_are_another_benchmark() -> None:
    names = tuple(f"other-{i}" for i in range(N))
    table = replace(REAL.table, samples=names, clusters=names)
    other = replace(REAL, table=table)
    assert words(other) == [["incomplete", "incomplete"]]


def test_bare_numbers_are_compared_as_points_and_with_an_n_unpaired() -> None:
    points = bare_baseline({"real@1": BaselineScore(0.6), "lambada@1": BaselineScore(0.5)})
    (real_1,), (lambada_1,) = judge([REAL, LAMBADA], points)
    assert (real_1.word, lambada_1.word) == ("unchanged", "inconclusive")
    assert "point comparison only" in lambada_1.detail
    with_n = bare_baseline({"lambada@1": BaselineScore(0.6, n=2_400)})
    ((verdict,),) = judge([LAMBADA], with_n)
    assert verdict.word == "regressed"
    assert verdict.comparison is not None
    assert verdict.comparison.kind == "unpaired"


def test_the_detectable_drop_is_that_of_the_first_step_of_holm() -> None:
    ((alone, _),) = judge([REAL], as_baseline(REAL))
    (among, _), _ = judge([REAL, LAMBADA], BEST)
    assert alone.comparison is not None
    assert among.comparison is not None
    # Two gated metrics: 0.025 needs five losses, as 0.05 / 3 does.
    assert alone.comparison.mde == among.comparison.mde
    ((single,),) = judge([LAMBADA], as_baseline(LAMBADA))
    assert single.comparison is not None
    assert single.comparison.mde == pytest.approx(5.515 / N, rel=1e-3)
    assert among.comparison.mde == pytest.approx(6.721 / N, rel=1e-3)


# Tolerance


def test_a_tolerance_is_the_given_one_then_the_baselines_then_the_default() -> None:
    held = replace(BEST.benchmarks["real/whole-word"], tolerance={"real@5": 0.03})
    assert tolerance_of("real@5", {"real@5": 0.05, "*": 0.02}, held) == 0.05
    assert tolerance_of("real@5", {"*": 0.02}, held) == 0.02
    assert tolerance_of("real@5", {}, held) == 0.03
    assert tolerance_of("real@1", {}, held) == 0.01


# The composite


def test_the_composite_is_compared_in_pairs_and_not_gated() -> None:
    run = [measured("real/whole-word", 0.6, 0.8, lost=40), LAMBADA]
    parts = {score.metric: score for bench in run for score in bench.scores}
    score = composite(parts, WEIGHTS, [bench.table for bench in run])
    verdict = judge_composite(score, WEIGHTS, run, BEST)
    assert verdict is not None
    assert verdict.comparison is not None
    assert (verdict.word, verdict.comparison.kind) == ("regressed", "paired")
    assert verdict.comparison.difference == pytest.approx(-0.4 * 40 / N)
    assert verdict.p_adjusted is None


def test_the_composite_of_bare_numbers_is_a_point() -> None:
    parts = {score.metric: score for bench in (REAL, LAMBADA) for score in bench.scores}
    score = composite(parts, WEIGHTS, [REAL.table, LAMBADA.table])
    points = {"real@1": 0.6, "real@5": 0.8, "lambada@1": 0.4}
    bare = bare_baseline({name: BaselineScore(value, n=N) for name, value in points.items()})
    verdict = judge_composite(score, WEIGHTS, [REAL, LAMBADA], bare)
    assert verdict is not None
    assert verdict.comparison is not None
    assert (verdict.word, verdict.comparison.kind) == ("unchanged", "point")
    assert verdict.comparison.baseline == pytest.approx(0.6)


def test_a_composite_with_a_part_missing_has_no_verdict() -> None:
    parts = {score.metric: score for bench in (REAL, LAMBADA) for score in bench.scores}
    whole = composite(parts, WEIGHTS, [REAL.table, LAMBADA.table])
    assert judge_composite(whole, WEIGHTS, [REAL, LAMBADA], as_baseline(REAL)) is None
    broken = composite({}, WEIGHTS, [])
    assert judge_composite(broken, WEIGHTS, [REAL], BEST) is None


# Protocols and settings


def test_two_protocols_of_a_benchmark_are_never_compared() -> None:
    with pytest.raises(CkptbenchError) as caught:
        check_protocol(BEST, "real", "real/single-mask")
    assert "holds real/whole-word, this run asked real/single-mask" in caught.value.what
    assert "--protocol real=real/whole-word" in caught.value.remedy
    check_protocol(BEST, "real", "real/whole-word")
    check_protocol(BEST, "humaneval", "humaneval/raw")


def test_one_of_several_protocols_is_enough() -> None:
    both = as_baseline(REAL, measured("real/origin", 0.5, primary=False))
    check_protocol(both, "real", "real/origin")


def test_bare_numbers_state_no_protocol_and_that_is_said() -> None:
    bare = bare_baseline({"real@1": BaselineScore(0.6)})
    check_protocol(bare, "real", "real/origin")
    assert "without a protocol" in protocol_note(bare)
    assert protocol_note(BEST) == ""


def test_differing_settings_are_noted_not_refused() -> None:
    assert settings_note(BEST, {"seq_len": 512, "dtype": "fp32", "beam": 10}) == ""
    assert settings_note(BEST, {"seq_len": 256, "dtype": "bf16"}) == (
        "The baseline was made with seq_len 512, dtype fp32; this run uses seq_len 256, dtype bf16."
    )


def test_a_mistyped_bare_number_is_told_with_the_nearest_metric() -> None:
    bare = bare_baseline({"rael@1": BaselineScore(0.6), "real@5": BaselineScore(0.8)})
    assert unmatched_metrics(bare, ["real@1", "real@5"]) == ("rael@1 (did you mean 'real@1'?)",)
    assert unmatched_metrics(BEST, ["other"]) == ()
