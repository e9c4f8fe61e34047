"""Commands that the permissions of files hold for, also where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_BOUND = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


def run_bound(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; the test is skipped where nothing can bind root."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None or subprocess.run([*_BOUND, "true"]).returncode:
            pytest.skip("root reads every file, and setpriv cannot change that")
        command = [*_BOUND, *command]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
