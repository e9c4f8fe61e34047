"""Signals that end a run, in a process of its own: the handlers are those of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
import pytest
from ckptbench.session.signals import EndSignals

class Config:
    def add_cleanup(self, _): ...

signals = EndSignals(is_worker=sys.argv[1] == "worker")
signals.catch(Config())
signals.concluding = sys.argv[1] == "concluding"
raised = 0
for name in sys.argv[2:]:
    try:
        os.kill(os.getpid(), getattr(signal, name))
    except KeyboardInterrupt:
        raised += 1
print(raised, signals.status)
"""


def outcome(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (["main", "SIGINT"], 0, "1 0"),
        (["main", "SIGTERM"], 0, "1 143"),
        (["main", "SIGHUP"], 0, "1 129"),
        (["main", "SIGINT", "SIGINT"], 0, "1 130"),
        (["main", "SIGTERM", "SIGINT"], 0, "1 143"),
        (["main", "SIGTERM", "SIGTERM", "SIGTERM"], 143, ""),
        (["worker", "SIGTERM", "SIGHUP"], 0, "0 0"),
        (["concluding", "SIGTERM"], 0, "0 0"),
        (["concluding", "SIGINT"], 0, "0 0"),
        (["concluding", "SIGTERM", "SIGTERM", "SIGTERM"], 143, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_first_ends_the_session_in_order_and_the_third_at_once(
    arguments: list[str], status: int, printed: str
) -> None:
    assert outcome(*arguments) == (status, printed)
