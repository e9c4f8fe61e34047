"""Which samples are shown as changed, and by which of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ckptbench.readers.result import SampleRow, no_samples
from ckptbench.reports.flips import flip_groups


def test_every_group_has_an_equal_share_and_still_counts_all(sweep: Callable[..., Any]) -> None:
    run = sweep(
        {"c-1": [2] * 20 + [1] * 4, "c-2": [2] * 3 + [1] * 17 + [2] * 4, "c-3": [1] * 20 + [2] * 4}
    )
    first, second = flip_groups(*run.both, most=12)
    assert (first.regressions, first.improvements, len(first.samples)) == (20, 4, 6)
    assert (second.regressions, second.improvements, len(second.samples)) == (3, 0, 3)


def test_both_changes_are_shown_before_one_of_them_fills_the_share(
    sweep: Callable[..., Any],
) -> None:
    run = sweep({"c-1": [2] * 20 + [1] * 4, "c-2": [1] * 20 + [2] * 4})
    (group,) = flip_groups(*run.both, most=10)
    assert [flip.change for flip in group.samples] == ["lost"] * 6 + ["won"] * 4
    (group,) = flip_groups(*run.both, most=6)
    assert [flip.change for flip in group.samples] == ["lost"] * 3 + ["won"] * 3


def test_of_several_trials_the_one_that_shows_the_change_is_shown(fallen: Any) -> None:
    def trials(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        for row in fallen.result.samples(checkpoint, benchmark):
            opposite = "passed" if row.status == "missed" else "missed"
            yield replace(row, status=opposite)  # the first trial, which a flip's node id names
            yield replace(row, trial=1, nodeid=row.nodeid.replace("]", "-t01]"))

    results = [replace(fallen.result, samples=trials)]
    (group,) = flip_groups(results, fallen.conclusions, most=100)
    assert {(flip.change, flip.row.status, flip.row.trial) for flip in group.samples} == {
        ("lost", "missed", 1),
        ("won", "passed", 1),
    }


def test_rows_of_another_protocol_are_not_taken_for_the_headline_ones(rising: Any) -> None:
    def beside(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        for row in rising.result.samples(checkpoint, benchmark):
            yield replace(row, protocol="real/single-mask", reason="beside")
            yield row

    results = [replace(rising.result, samples=beside)]
    groups = list(flip_groups(results, rising.conclusions, most=100))
    assert {flip.row.protocol for group in groups for flip in group.samples} == {"real/whole-word"}


def test_a_source_without_texts_is_named(rising: Any) -> None:
    results = [replace(rising.result, samples=no_samples)]
    first, _ = flip_groups(results, rising.conclusions, most=100)
    assert (first.regressions, first.improvements, first.samples) == (30, 2, ())
    assert first.missing == "results/sweep keeps no texts of its samples"
