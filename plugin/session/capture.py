"""What a sample item prints is kept for its report and out of the terminal, as pytest does.

pytest redirects the process's file descriptors for every phase of an item, which costs as much as
running a sample item. Where only the benchmark's own Python code runs, replacing `sys.stdout` and
`sys.stderr` is enough.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest


class Output:
    """Keeps what is printed while something is done."""

    def __init__(self, config: pytest.Config) -> None:
        manager = config.pluginmanager.get_plugin("capturemanager")
        self._manager = manager if manager is not None and manager.is_globally_capturing() else None
        # `tee-sys` shows everything at once, which only pytest's own capture does.
        self._wholly = config.getoption("capture", "no") == "tee-sys"
        self._stdout, self._stderr = io.StringIO(), io.StringIO()

    def keep(
        self, item: pytest.Item, when: str, do: Callable[[], None], *, wholly: bool = False
    ) -> None:
        """Do something for an item and add what it prints to the item's report.

        Args:
            wholly: also what is written by other languages and processes, as while a model loads.
        """
        if self._manager is None:
            do()
        elif wholly or self._wholly:
            with self._manager.item_capture(when, item):
                do()
        else:
            theirs = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = self._stdout, self._stderr
            try:
                do()
            finally:
                sys.stdout, sys.stderr = theirs
                if self._stdout.tell() or self._stderr.tell():
                    self._hand_over(item, when)

    def _hand_over(self, item: pytest.Item, when: str) -> None:
        for name, kept in (("stdout", self._stdout), ("stderr", self._stderr)):
            item.add_report_section(when, name, kept.getvalue())
            kept.seek(0)
            kept.truncate()
