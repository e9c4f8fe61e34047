"""Plugins of others that run tests again or elsewhere: refused by name, or kept from misses."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

import pytest

from .._util.errors import CkptbenchError
from .item import MissedSample, SampleItem


class _Refused(NamedTuple):
    """A plugin that cannot run sample items.

    Attributes:
        acts: whether its options make it act on every test.
        marks: with which it acts on single tests.
        why: what it would do.
    """

    acts: Callable[[pytest.Config], bool]
    marks: tuple[str, ...]
    why: str


def _several_threads(config: pytest.Config) -> bool:
    wanted = (config.getoption("parallel_threads", 1), config.getoption("iterations", 1))
    return any(str(each) != "1" for each in wanted)


_REFUSED = {
    "pytest_retry": _Refused(
        lambda config: False,  # its option marks every item
        ("flaky",),
        "would run missed samples again, and sets up fixtures that a sample does not have",
    ),
    "pytest_forked": _Refused(
        lambda config: bool(config.getoption("forked", False)),
        ("forked",),
        "would load the model anew in a process for every sample",
    ),
    "pytest_run_parallel": _Refused(
        _several_threads,
        ("parallel_threads", "force_parallel_threads", "iterations"),
        "would ask a sample several times at once",
    ),
}


def refuse_other_plugins(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Refuse plugins that would act on sample items and cannot.

    Raises:
        CkptbenchError: naming the plugin and how to do without it.
    """
    samples = [item for item in items if isinstance(item, SampleItem)]
    for name, plugin in config.pluginmanager.list_name_plugin() if samples else ():
        package = getattr(plugin, "__name__", "").partition(".")[0]
        refused = _REFUSED.get(package)
        if refused is None:
            continue
        marked = (item for item in samples if any(map(item.get_closest_marker, refused.marks)))
        if refused.acts(config) or any(marked):
            raise CkptbenchError(
                f"{refused.why}: it does not work with samples of benchmarks",
                where=package.replace("_", "-"),
                remedy=f"Run without its options and marks, or switch it off with -p no:{name}.",
            )


class MissesAreNotRerun:
    """Keeps pytest-rerunfailures from running missed samples again: only errors may be chance."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Mark a miss as what it calls a terminal error."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, MissedSample):
            getattr(item, "_terminal_errors", {})[call.when] = True
        return report
