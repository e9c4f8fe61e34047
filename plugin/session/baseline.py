"""The baseline of a session: found, read, and checked against what was collected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .._util.errors import CkptbenchError
from .._util.overwrite import BASELINE, REMOVE, check_output
from .._util.text import listed
from ..config.options import Options
from ..results.stored_run import GroupMetadata
from .run import Run

if TYPE_CHECKING:
    from ..gate.baseline import Baseline


def with_baseline(options: Options, config: pytest.Config) -> Options:
    """The options, with the path of a baseline that is `last` or `best`.

    Raises:
        CkptbenchError: there is no such run, or an option needs a baseline.
    """
    _check(options, config)
    if options.baseline is None:
        return options
    from ..readers.earlier_baseline import with_named_baseline

    return with_named_baseline(options, config.invocation_params.dir)


def read_baseline(run: Run, directory: Path) -> Baseline | None:
    """What the run is compared with; None without a baseline, and where it is yet to be written.

    Args:
        directory: pytest's invocation directory.

    Raises:
        CkptbenchError: it cannot be read, or not be written.
    """
    options = run.options
    if options.baseline is None:
        return None
    from ..readers.baseline import load

    path = directory / options.baseline
    if not options.update_baseline:
        return load(path)
    check_output(path, BASELINE, remedy=REMOVE)
    if not path.exists():
        return None
    try:
        return load(path)
    except CkptbenchError as error:
        # It is about to be replaced, which may be why.
        run.notes.append(f"nothing was compared with the old baseline: {error.where}: {error.what}")
        return None


def check_baseline(run: Run, baseline: Baseline | None, config: pytest.Config) -> None:
    """Refuse what cannot be compared or replaced, before anything is asked or decided.

    Raises:
        CkptbenchError: no benchmark has a metric that is named, see `gate.scope`; or the new
            baseline would be of several checkpoints, or of a part of what the old one has.
    """
    from ..gate.scope import MetricNames

    groups = run.store.groups()
    known = MetricNames.of({g.benchmark: g.reducer for g in groups if g.primary})
    known.check_options(config, run.options)
    if run.options.update_baseline:
        _check_replaced(run, groups, baseline, config)
    if baseline is None:
        return
    if not run.options.update_baseline:
        known.check_numbers(baseline, str(run.options.baseline), run.options.k)
    if run.options.decide == "early":
        from .early import EarlyDecision
        from .finish import scope_of

        outcomes, scope = run.outcomes.by_nodeid, scope_of(config, run.options)
        n_checkpoints = len(run.checkpoints)
        run.early = EarlyDecision(run.store, outcomes, run.options, baseline, scope, n_checkpoints)


def _check_replaced(
    run: Run, groups: Sequence[GroupMetadata], old: Baseline | None, config: pytest.Config
) -> None:
    """Refuse a new baseline of several checkpoints, or without what was deselected of the old."""
    from .finish import scope_of

    checkpoints = {group.checkpoint for group in groups}
    if len(checkpoints) > 1:
        raise CkptbenchError(
            f"a baseline holds one checkpoint, this session has {len(checkpoints)}",
            where="--update-baseline",
            remedy="Give one --checkpoint.",
        )
    scope = scope_of(config, run.options)
    by = [*scope.selection, *scope.limited, *scope.chosen_protocols.values()]
    if old is None or old.bare or not by:
        return
    samples: dict[str, set[str]] = {protocol: set() for protocol in old.benchmarks}
    for item in run.store.plan():
        samples.get(groups[item.group].protocol, set()).add(item.sample)
    lost = [p for p, held in old.benchmarks.items() if held.outcomes.keys() - samples[p]]
    if lost:
        raise CkptbenchError(
            f"it has samples of {listed(lost)} that this run leaves out "
            f"({', '.join(dict.fromkeys(by))}), and the new one would lose them",
            where=str(run.options.baseline),
            remedy="Run all of them, or give another file; remove this one to do without them.",
        )


def _check(options: Options, config: pytest.Config) -> None:
    """Refuse options that do not fit a run of a part of the samples.

    Raises:
        CkptbenchError: naming them.
    """
    early, distribution = options.decide == "early", config.getoption("dist", "no")
    where, what, remedy = "--decide early", "", ""
    if early and options.baseline is None:
        what, remedy = "there is no baseline to decide by", "Give --baseline=FILE."
    elif early and options.update_baseline:
        what, remedy = "a baseline needs all samples", "Leave --decide or --update-baseline out."
    elif early and options.shard is not None:
        what, remedy = "a shard decides nothing", "Leave --decide or --shard out."
    elif early and distribution not in ("no", "load"):
        what = f"workers of --dist {distribution} do not wait for a look"
        remedy = "Leave --dist out."
    elif options.shard is not None and options.update_baseline:
        where, what = f"--shard {options.shard}", "a baseline needs all samples"
        remedy = "Write it of the run that `ckptbench merge` makes."
    elif options.update_baseline and str(options.baseline) in ("last", "best"):
        where, what = f"--baseline {options.baseline}", "is an earlier run, and no file to write"
        remedy = "Give the file, such as --baseline=baselines/best.json."
    if what:
        raise CkptbenchError(what, where=where, remedy=remedy)
