"""The baseline of a session: found, read, and checked against what was collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .._util.errors import CkptbenchError
from .._util.overwrite import BASELINE, REMOVE, check_output
from ..config.options import Options
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
    """Refuse names of metrics that no benchmark has, before anything is asked or decided.

    Raises:
        CkptbenchError: see `gate.scope`.
    """
    from ..gate.scope import MetricNames

    known = MetricNames.of({g.benchmark: g.reducer for g in run.store.groups() if g.primary})
    known.check_options(config, run.options)
    if baseline is None:
        return
    if not run.options.update_baseline:
        known.check_numbers(baseline, str(run.options.baseline))
    if run.options.decide == "early":
        from .early import EarlyDecision
        from .finish import scope_of

        outcomes, scope = run.outcomes.by_nodeid, scope_of(config, run.options)
        n_checkpoints = len(run.checkpoints)
        run.early = EarlyDecision(run.store, outcomes, run.options, baseline, scope, n_checkpoints)


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
    if what:
        raise CkptbenchError(what, where=where, remedy=remedy)
