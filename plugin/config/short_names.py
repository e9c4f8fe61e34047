"""Options with a short name that is given up when another plugin has it.

A repository's conftest or another plugin may well have its own `--seed` or `--device`. Whichever is
registered first, theirs keeps the short name and ours has only `--ckpt-...`. pytest has no public
interface for this, so the two ways it keeps its options (a list read when parsing starts, up to
pytest 8; an argparse parser filled at once, from pytest 9) are handled here and nowhere else.
"""

from __future__ import annotations

import argparse
from typing import Any

import pytest


def add_with_short_name(
    parser: pytest.Parser, group: Any, long: str, short: str, attributes: dict[str, Any]
) -> None:
    """Add an option under its long name, and under the short one unless another plugin has it."""
    if short in names_of(parser):
        group.addoption(long, **attributes)
        return
    group.addoption(long, short, **attributes)
    optparser = getattr(parser, "optparser", None)
    if optparser is None:
        _give_way_when_parsing(parser, group.options[-1], short)
    else:
        _give_way_at_once(parser, optparser, short)


def names_of(parser: Any) -> set[str]:
    """Every name of the parser's options."""
    return {name for option in _options(parser) for name in option.names()}


def _options(parser: Any) -> list[Any]:
    return [option for group in (*parser._groups, parser._anonymous) for option in group.options]


def _give_way_when_parsing(parser: Any, option: Any, short: str) -> None:
    build = parser._getparser

    def build_without_conflict() -> Any:
        others = (other for other in _options(parser) if other is not option)
        if short in option._long_opts and any(short in other.names() for other in others):
            option._long_opts.remove(short)
        return build()

    parser._getparser = build_without_conflict


def _give_way_at_once(parser: Any, optparser: argparse.ArgumentParser, short: str) -> None:
    ours: set[str] | None = getattr(optparser, "_ckptbench_short_names", None)
    if ours is not None:
        ours.add(short)
        return
    ours = {short}
    optparser._ckptbench_short_names = ours  # type: ignore[attr-defined]

    def watch(container: Any) -> None:
        check = container._check_conflict

        def check_after_giving_way(action: argparse.Action) -> None:
            for name in ours.intersection(action.option_strings):
                ours.discard(name)
                owner = container._option_string_actions.pop(name)
                owner.option_strings.remove(name)
            check(action)

        container._check_conflict = check_after_giving_way

    for group in [*parser._groups, parser._anonymous]:
        watch(group._arggroup)
    add_group = optparser.add_argument_group

    def add_watched_group(*args: Any, **kwargs: Any) -> Any:
        container = add_group(*args, **kwargs)
        watch(container)
        return container

    optparser.add_argument_group = add_watched_group  # type: ignore[method-assign]
