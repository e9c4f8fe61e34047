"""Any baseline comes back from its file as it was, to the last digit."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptbench.gate.baseline import FORMAT, Baseline, BaselineBenchmark, BaselineScore
from ckptbench.readers.baseline import load, write

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
SHARES = st.floats(0, 1)
SCORES = st.builds(
    BaselineScore, st.none() | SHARES, st.none() | SHARES, st.none() | st.integers(0, 10**6)
)


@st.composite
def benchmarks(draw: st.DrawFn) -> BaselineBenchmark:
    metrics = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple))
    rows = st.tuples(*[st.none() | SHARES for _ in metrics])
    benchmark = draw(NAMES).replace("/", "-")
    return BaselineBenchmark(
        benchmark=benchmark,
        protocol=f"{benchmark}/{draw(NAMES)}",
        primary=draw(st.booleans()),
        dataset=draw(NAMES),
        n=draw(st.none() | st.integers(0, 10**6)),
        metrics=metrics,
        scores={metric: draw(SCORES) for metric in metrics},
        tolerance={},
        outcomes=draw(st.dictionaries(NAMES, rows, max_size=4)),
    )


@given(
    st.builds(
        Baseline,
        st.just(FORMAT),
        NAMES,
        NAMES,
        st.dictionaries(NAMES, st.none() | st.booleans() | st.integers() | NAMES, max_size=3),
        st.just("2026-01-01T00:00:00+00:00"),
        st.just("0.1.0"),
        st.lists(benchmarks(), max_size=2).map(lambda each: {one.protocol: one for one in each}),
    )
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_baseline_comes_back_as_it_was(tmp_path: Path, baseline: Baseline) -> None:
    write(baseline, tmp_path / "best.json")
    assert load(tmp_path / "best.json") == baseline
