"""Which metrics are gated, and how much worse each may be, in its own unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.gate.baseline import Baseline, BaselineBenchmark, BaselineScore, bare_baseline
from ckptbench.gate.matching import match, match_baseline
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.gate.scope import MetricNames, Scope
from ckptbench.scores.metric import BITS_PER_BYTE, PERPLEXITY, UNKNOWN, Metric
from ckptbench.scores.reducers import PassAtK, TopK, spec_of
from ckptbench.scores.score import Score

from .conftest import as_baseline, measured, shares

SHARE = Score("real@1", 0.5, 9, 9)
POINTS = Score("bleu", 30.0, 9, 9).of(Metric("points"))
BITS = Score("bits", 1.0, 9, 9).of(BITS_PER_BYTE)
PPL = Score("ppl", 12.0, 9, 9).of(PERPLEXITY)
REAL = measured("real/whole-word", shares(10, 0.6, 0.8))
HELD = BaselineBenchmark(
    *("real", "real/x", True, "", 9, ("real@1",)),
    scores={"ppl": BaselineScore(12.0), "bleu": BaselineScore(30.0)},
    tolerance={"real@5": 0.07},
)


@pytest.mark.parametrize(
    ("score", "given", "allowed"),
    [
        (SHARE, {}, 0.01),
        (POINTS, {}, 1.0),
        (BITS, {}, 0.01),
        (PPL, {}, 0.12),  # one hundredth of the baseline's
        (replace(PPL, metric="other"), {}, 0.0),  # which has none
        (SHARE, {"*": 0.03}, 0.03),
        (POINTS, {"*": 0.03}, 3.0),
        (BITS, {"*": 0.03}, 0.01),  # for shares and points alone
        (PPL, {"ppl": 0.005, "*": 0.03}, 0.5),
        (POINTS, {"real/bleu": 0.02, "bleu": 0.05}, 2.0),
        (replace(SHARE, metric="real@5"), {}, 0.07),  # the baseline's
        (replace(SHARE, metric="real@5"), {"*": 0.03}, 0.03),
    ],
)
def test_a_tolerance_is_in_the_metrics_unit(
    score: Score, given: dict[str, float], allowed: float
) -> None:
    assert Scope(tolerance=given).tolerance_of("real", score, HELD) == pytest.approx(allowed)


def test_a_baseline_without_a_value_gives_no_relative_tolerance() -> None:
    held = replace(HELD, scores={"ppl": BaselineScore(None)})
    assert Scope().tolerance_of("real", PPL, held) == 0.0


def test_what_is_gated() -> None:
    scope = Scope(gate_on=frozenset({"bits", "real/ppl"}))
    assert scope.gates(REAL, SHARE)
    assert scope.gates(REAL, BITS)
    assert scope.gates(REAL, PPL)
    assert not Scope().gates(REAL, BITS)
    assert not scope.gates(replace(REAL, primary=False), SHARE)
    unknown = Score("odd", 1.0, 9, 9).of(UNKNOWN)
    assert not Scope(gate_on=frozenset({"odd"})).gates(REAL, unknown)
    # Of another benchmark of this name.
    ungated = replace(PPL, gated=False)
    assert not scope.gates(replace(REAL, benchmark="other"), ungated)
    assert scope.gates(REAL, ungated)


def test_the_names_of_metrics() -> None:
    names = MetricNames.of({"real": spec_of(TopK((1, 5))), "lambada": spec_of(TopK((1,)))})
    assert names.known == {
        *("real@1", "real@5", "lambada@1"),
        *("real/real@1", "real/real@5", "lambada/lambada@1"),
    }
    assert names.owners("real@1") == ("real",)
    assert names.owners("other") == ()


def test_bare_numbers_are_of_one_benchmark_each() -> None:
    names = MetricNames.of({"code": spec_of(PassAtK((1, 5))), "more": spec_of(PassAtK((1,)))})

    def numbers(*metrics: str) -> Baseline:
        return bare_baseline({metric: BaselineScore(0.5) for metric in metrics})

    names.check_numbers(numbers("pass@5", "code/pass@1", "score", "task acc,none"), "x.json")
    names.check_numbers(numbers("humaneval/pass@1", "real@5"), "x.json")  # not run here
    names.check_numbers(as_baseline(REAL), "x.json")
    with pytest.raises(CkptbenchError, match="ambiguous: code and more have it") as raised:
        names.check_numbers(numbers("pass@1"), "x.json")
    assert raised.value.remedy == "Write code/pass@1."
    with pytest.raises(CkptbenchError, match="no metric named 'odd'"):
        names.check_numbers(numbers("odd"), "x.json")


# A run's benchmarks and the baseline's


def pairs(
    *benchmarks: BenchmarkMeasurement, baseline: list[BaselineBenchmark]
) -> list[tuple[int, str, str]]:
    found = match(benchmarks, baseline)
    return [(pair.index, pair.bench.protocol, pair.reference.protocol) for pair in found]


def held(
    protocol: str, *, primary: bool = True, name: str = "real", **scores: float
) -> BaselineBenchmark:
    values = {metric.replace("_at_", "@"): BaselineScore(v) for metric, v in scores.items()}
    return BaselineBenchmark(name, protocol, primary, "", 9, tuple(values), values)


def test_of_several_of_one_name_the_same_protocol_comes_first() -> None:
    same, bare, other = held("real/whole-word"), held(""), held("real/x")
    for order in ([same, bare, other], [other, bare, same]):
        assert pairs(REAL, baseline=order) == [(0, "real/whole-word", "real/whole-word")]
    for order in ([bare, other], [other, bare]):
        assert pairs(REAL, baseline=order) == [(0, "real/whole-word", "")]
    assert pairs(REAL, baseline=[other]) == [(0, "real/whole-word", "real/x")]
    assert pairs(REAL, baseline=[held("real/x", primary=False)]) == []
    assert pairs(replace(REAL, primary=False), baseline=[other]) == []
    assert pairs(replace(REAL, primary=False), baseline=[bare]) == [(0, "real/whole-word", "")]


def test_numbers_without_a_protocol_are_matched_by_metrics_of_one_owner() -> None:
    numbers = held("", name="numbers", real_at_1=0.5, real_at_9=0.5)
    ((pair),) = match([REAL], [numbers])
    assert [score.metric for score in pair.bench.scores] == ["real@1"]
    # A second benchmark, here or there, has a metric of the name.
    twin = replace(REAL, benchmark="twin", protocol="twin/x")
    assert pairs(REAL, twin, baseline=[numbers]) == []
    assert pairs(REAL, baseline=[numbers, replace(numbers, benchmark="more")]) == []
    # One that is not gated does not count, on either side.
    assert pairs(REAL, replace(twin, primary=False), baseline=[numbers]) == [
        (0, "real/whole-word", "")
    ]
    assert pairs(REAL, baseline=[replace(numbers, primary=False)]) == []
    assert pairs(replace(REAL, primary=False), baseline=[numbers]) == []
    # What states another benchmark's protocol is that benchmark's.
    assert pairs(REAL, baseline=[replace(numbers, protocol="numbers/x")]) == []
    assert pairs(replace(REAL, protocol=""), baseline=[replace(numbers, protocol="numbers/x")]) == [
        (0, "", "numbers/x")
    ]


def test_what_the_run_lacks_is_what_is_gated_and_was_not_met() -> None:
    lambada = measured("lambada/greedy", shares(10, 0.4, benchmark="lambada"))
    apart = measured("lambada/other", shares(10, 0.4, benchmark="lambada"), primary=False)
    found = match_baseline([REAL], as_baseline(REAL, lambada, apart))
    assert found.benchmarks == 1
    assert [pair.name for pair in found.pairs] == ["real/whole-word"]
    assert [b.protocol for b in found.lacking] == ["lambada/greedy"]
