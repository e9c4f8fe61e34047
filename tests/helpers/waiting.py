"""Waiting for what another process does."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], object], process: subprocess.Popen[str] | None = None
) -> None:
    """Wait for what happens in seconds, also on a busy machine.

    Args:
        process: makes it happen; what it wrote is shown if it ends without.
    """
    end = time.monotonic() + 120
    while not condition():
        if process is not None and process.poll() is not None:
            assert condition(), process.communicate()[0]
            return
        assert time.monotonic() < end, "it did not happen within two minutes"
        time.sleep(0.02)
