"""The main loop of a session with stretches of sample items.

For each item, pytest's core wraps the run: warnings are caught, assertions get their helpers,
watchdogs are set. That costs as much as running a sample item, so a stretch of sample items is
run inside one such wrapping. What other plugins wrap an item in stays around each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.warnings import catch_warnings_for_item

from .item import SampleItem

if TYPE_CHECKING:
    from .session import BenchSession


def run_items(session: pytest.Session, bench: BenchSession) -> bool | None:
    """Run a session's items, as `pytest_runtestloop` must; None leaves it to pytest."""
    config = session.config
    runner = bench.runner
    if runner is None or not runner.may_run_stretches or config.option.collectonly:
        return None
    if session.testsfailed and not config.option.continue_on_collection_errors:
        return None
    items = [*session.items, None]
    place = 0
    while (item := items[place]) is not None:
        if not _plain(item):
            config.hook.pytest_runtest_protocol(item=item, nextitem=items[place + 1])
            place += 1
            _stop_if_asked(session)
            continue
        with catch_warnings_for_item(config, config.hook, "runtest", None):
            while isinstance(item, SampleItem) and _plain(item):
                runner.run_among_others(item, items[place + 1])
                place += 1
                _stop_if_asked(session)
                item = items[place]
    return True


def _plain(item: pytest.Item) -> bool:
    return isinstance(item, SampleItem) and not item.obeyed


def _stop_if_asked(session: pytest.Session) -> None:
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
