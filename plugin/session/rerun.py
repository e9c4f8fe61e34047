"""What a command needs that runs one item of a run again, from the folder where the run started."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ..config.options import remaking_options
from ..results.environment import hide_secrets

# pytest's own options that decide which files there are, and what their names are.
_OF_PYTEST = ("-c", "--config-file", "--rootdir", "-o", "--override-ini", "--import-mode")


def rerun_options(config: pytest.Config) -> Iterator[str]:
    """The options of a command line that make the same items again."""
    known = {
        f"--{prefix}{each.name}": each for each in remaking_options() for prefix in ("", "ckpt-")
    }
    shown = list(hide_secrets(config.invocation_params.args))
    if config.getoption("pyargs", False):
        yield "--pyargs"
    for index, argument in enumerate(shown):
        name, equals, _ = argument.partition("=")
        option = known.get(name)
        if option is None and name not in _OF_PYTEST:
            continue
        following = shown[index + 1] if index + 1 < len(shown) else ""
        alone = option is not None and (
            option.parse is None or (option.bare and following.startswith("-"))
        )
        if equals or alone or not following:
            yield argument
        elif name.startswith("--"):
            yield f"{argument}={following}"
        else:
            yield from (argument, following)


def rerun_paths(config: pytest.Config, nodeids: Iterable[str]) -> dict[str, str]:
    """The argument for each test file, by the path that its items' names begin with.

    It is a module's name where the run was started with `--pyargs`, else a path relative to the
    folder where it was started. Files whose names are arguments already are left out.
    """
    started = config.invocation_params.dir
    arguments = [argument.partition("::")[0] for argument in config.args]
    given = [found for argument in arguments for found in _places(config, started, argument)]
    paths = {}
    for path in dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids):
        # A name begins at the root folder, or outside of it at an argument of the command line.
        candidates = [folder / path for folder in (config.rootpath, *(place for place, _ in given))]
        file = next((f for f in candidates if f.is_file() and _place_of(f, given)), None)
        if file is None or (found := _place_of(file, given)) is None:
            continue
        place, module = found
        argument = os.path.relpath(file, started)
        if module:
            argument = ".".join([module, *file.with_suffix("").parts[len(place.parts) :]])
        if argument != path:
            paths[path] = argument
    return paths


def _place_of(file: Path, given: Iterable[tuple[Path, str]]) -> tuple[Path, str] | None:
    """The argument that a file was collected by."""
    return next((found for found in given if file.is_relative_to(found[0])), None)


def _places(config: pytest.Config, started: Path, argument: str) -> Iterator[tuple[Path, str]]:
    """The file or folder of an argument, with the name of its module under `--pyargs`."""
    if config.getoption("pyargs", False):
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(argument)
            if spec is not None and spec.submodule_search_locations:
                yield from ((Path(place), argument) for place in spec.submodule_search_locations)
            elif spec is not None and spec.origin:
                yield Path(spec.origin), argument
    yield Path(os.path.normpath(started / argument)), ""
