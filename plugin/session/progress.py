"""The progress of a block on the terminal."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .answering import Block


class Progress:
    """Prints how many answers a block has while an item waits for it, less and less often."""

    def __init__(self, config: pytest.Config, *, quiet: bool) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter: Any = (
            None if quiet or reporter is None or reporter.verbosity < 0 else reporter
        )
        self._next_s = 5.0

    def __call__(self, block: Block) -> None:
        """Print a line if the last one is long enough ago."""
        waited = time.monotonic() - block.started if block.started else 0.0
        if self._reporter is None or waited < self._next_s:
            return
        self._next_s = max(10.0, 2 * waited)
        self._reporter.ensure_newline()
        self._reporter.write_line(
            f"{block.group.title}: {block.answered:,} of {len(block.items):,} answered, "
            f"{waited:.0f} s"
        )
