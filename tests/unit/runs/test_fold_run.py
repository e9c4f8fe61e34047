"""Outcomes become one result for each checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ckptbench.config.options import Options
from ckptbench.results.outcome import Outcome
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata, PlannedItem
from ckptbench.results.summary import CheckpointResult
from ckptbench.runs.fold import fold_run
from ckptbench.scores.reducers import PassAtK, TopK, spec_of
from ckptbench.scores.score import Reducer

VALUES = {"passed": 1.0, "missed": 0.0}


Group = tuple[str, Reducer, Mapping[str, Sequence[str]]]


def recorded(status: str, reducer: Reducer) -> Outcome:
    values = (VALUES[status],) * max(1, len(reducer.ks)) if status in VALUES else ()
    return Outcome(status, values)


def folded(folder: Path, *groups: Group) -> CheckpointResult:
    """One checkpoint's result of benchmarks: name, reducer, statuses of each sample's trials."""
    store = RunStore(folder)
    records, items, outcomes = [], [], {}
    for number, (benchmark, reducer, samples) in enumerate(groups):
        protocol = f"{benchmark}/usual"
        records.append(GroupMetadata("base", benchmark, protocol, True, spec_of(reducer)))
        for sample, trials in samples.items():
            for trial, status in enumerate(trials):
                nodeid = f"t.py::{number}[{sample}-t{trial:02}]"
                name = f"{number}-{sample}"
                items.append(PlannedItem(len(items), nodeid, number, name, name, name, trial))
                outcomes[nodeid] = recorded(status, reducer)
    store.write_plan("token", [], records, items, [])
    (result,) = fold_run(store, outcomes, Options(), None, created="").checkpoints
    store.close()
    return result


@pytest.mark.parametrize(
    "trials", [("error", "passed"), ("passed", "error"), ("missed", "error", "passed")]
)
def test_a_sample_with_one_trial_in_error_is_an_error(
    tmp_path: Path, trials: Sequence[str]
) -> None:
    samples = {"a": trials, "b": ["passed"] * len(trials)}
    (bench,) = folded(tmp_path, ("mbpp", PassAtK((1,)), samples)).benchmarks
    assert bench.coverage.errors == 1
    assert not bench.coverage.complete
    assert len(bench.errors) == 1


def test_a_sample_with_trials_that_were_not_run_is_counted_once(tmp_path: Path) -> None:
    samples = {"a": ["passed", "not_run"], "b": ["passed", "missed"], "c": ["not_run", "not_run"]}
    (bench,) = folded(tmp_path, ("mbpp", PassAtK((1,)), samples)).benchmarks
    coverage = bench.coverage
    assert (coverage.planned, coverage.scored, coverage.not_run) == (3, 1, 2)


def test_the_composite_of_an_incomplete_benchmark_has_no_value_and_says_why(
    tmp_path: Path,
) -> None:
    real: Group = ("real", TopK((1, 5)), {"a": ["passed"], "b": ["missed"]})
    whole: Group = ("lambada", TopK((1,)), {"a": ["passed"], "b": ["missed"]})
    broken: Group = ("lambada", TopK((1,)), {"a": ["passed"], "b": ["error"]})
    composite = folded(tmp_path / "whole", real, whole).composite
    assert composite is not None
    assert composite.score.value == pytest.approx(0.5)
    composite = folded(tmp_path / "broken", real, broken).composite
    assert composite is not None
    assert composite.score.value is None
    assert "1 of 2 samples are errors" in composite.score.reason
