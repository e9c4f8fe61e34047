"""What plugins contribute, found through their hooks.

In a pytest session these are its plugins and conftests; elsewhere, as in the `ckptbench` command,
the suite itself. In both cases the modules that installed packages name in the entry-point group
`ckptbench` are included.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from os import environ
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .errors import CkptbenchError, one_line

if TYPE_CHECKING:
    from pluggy import PluginManager

GROUP = "ckptbench"
PREFIX = "pytest_ckptbench_"
# By name, not imported: the modules that contribute lie above this one.
_SPECIFICATIONS = "ckptbench.hookspec"
_SUITE = ("ckptbench.hooks", "ckptbench.fixtures.plugin")
# Plugin managers of the pytest sessions in this process, the innermost last.
_sessions: list[PluginManager] = []
# Those with which the installed packages are registered already.
_complete: WeakSet[PluginManager] = WeakSet()


def enter_session(manager: PluginManager) -> None:
    """Use the plugins of a pytest session from now on."""
    _sessions.append(manager)


def leave_session(manager: PluginManager) -> None:
    """Stop using the plugins of a session."""
    _sessions.remove(manager)


def hooks() -> Any:
    """The hooks of `hookspec`, ready to be called.

    Raises:
        CkptbenchError: an installed package's module cannot be loaded.
    """
    if not _sessions:
        return _outside_pytest().hook
    manager = _sessions[-1]
    if not environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        _add_installed(manager)
    return manager.hook


def contributions(hook: str) -> dict[str, Any]:
    """Everything that plugins contribute through one hook, by name; the suite's own is first.

    Args:
        hook: name of one whose result is a mapping, or a sequence of objects with a `name`.

    Raises:
        CkptbenchError: two plugins contribute different things under one name.
    """
    found: dict[str, Any] = {}
    for given in reversed(getattr(hooks(), hook)()):  # pluggy calls the newest plugin first
        pairs = (
            given.items() if isinstance(given, Mapping) else ((each.name, each) for each in given)
        )
        for name, thing in pairs:
            if found.setdefault(name, thing) is not thing:
                raise CkptbenchError(
                    f"two plugins contribute {name!r}",
                    where=hook,
                    remedy="rename one of them, or leave a plugin out: -p no:NAME",
                )
    return found


@cache
def _outside_pytest() -> PluginManager:
    """The suite and the installed packages, where no pytest session runs."""
    import pluggy

    class Manager(pluggy.PluginManager):
        def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
            """As in pytest, our hooks are recognized by their names and need no marker."""
            options = super().parse_hookimpl_opts(plugin, name)
            ours = name.startswith(PREFIX) and callable(getattr(plugin, name))
            return {} if options is None and ours else options

    manager = Manager("pytest")
    manager.add_hookspecs(import_module(_SPECIFICATIONS))
    for name in _SUITE:
        manager.register(import_module(name), name)
    _add_installed(manager)
    return manager


def _add_installed(manager: PluginManager) -> None:
    """Register the modules that installed packages name in the entry-point group, once."""
    from importlib.metadata import entry_points

    if manager in _complete:
        return
    _complete.add(manager)
    for entry in entry_points(group=GROUP):
        if manager.get_plugin(entry.name) is not None or manager.is_blocked(entry.name):
            continue
        try:
            plugin = entry.load()
        except Exception as error:
            package = f" of {entry.dist.name}" if entry.dist is not None else ""
            raise CkptbenchError(
                f"the plugin {entry.name!r}{package} cannot be loaded: "
                f"{type(error).__name__}: {one_line(error)}",
                where=f"entry point {entry.value}",
                remedy="upgrade or uninstall the package",
            ) from error
        if not manager.is_registered(plugin):
            manager.register(plugin, entry.name)
