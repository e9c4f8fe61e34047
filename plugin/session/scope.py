"""What a session's command line selected, as far as the comparison with a baseline must know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ..config.options import Options
from ..gate.scope import Scope

# pytest's own options that leave items out, by their destination.
_SELECTING = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--lf",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
}


def scope_of(config: pytest.Config, options: Options) -> Scope:
    """What the gate is to look at, and what the user left out on purpose."""
    return Scope(
        selection=tuple(dict.fromkeys(_selection(config))),
        limited=tuple(_limits(options)),
        chosen_metrics=_chosen_metrics(options),
        allowed=frozenset(options.allow_mismatch),
        gate_on=frozenset(options.gate_on),
        tolerance=options.tolerance,
    )


def _selection(config: pytest.Config) -> Iterator[str]:
    for destination, name in _SELECTING.items():
        if config.getoption(destination, None):
            yield name
    for argument in config.args:
        if "::" in argument:
            yield "node ids"
        elif _names_a_file(argument, bool(config.getoption("pyargs", False))):
            yield "a file argument"


def _names_a_file(argument: str, pyargs: bool) -> bool:
    if pyargs and not Path(argument).exists():
        return argument.rpartition(".")[2].startswith("test_")
    return not Path(argument).is_dir()


def _limits(options: Options) -> Iterator[str]:
    if options.limit is not None:
        yield "--limit"
    plan = options.eval_config
    if plan is not None and any(each.values.get("limit") for each in plan.settings):
        yield "limit in --eval-config"


def _chosen_metrics(options: Options) -> Mapping[str, str]:
    chosen: dict[str, str] = {}
    plan = options.eval_config
    for settings in plan.settings if plan is not None else ():
        if "metrics" in settings.values:
            chosen |= dict.fromkeys(settings.names, "metrics in --eval-config")
    return {**chosen, **dict.fromkeys(options.k, "--k")}
