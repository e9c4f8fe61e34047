"""`run.log`: the events of a run, written as they happen."""

from __future__ import annotations

import logging
from pathlib import Path

FILE_NAME = "run.log"
LOG = logging.getLogger("ckptbench.run")
# pytest collects what reaches the root logger and prints it beside failed tests.
LOG.propagate = False
LOG.setLevel(logging.INFO)


def begin(folder: Path, worker: str) -> logging.Handler:
    """Append to the run's file everything that is logged from now on.

    Processes of one run share the file: each line is written at once. A run continues when its
    log cannot be written. The worker's name is empty in the main process.
    """
    handler: logging.Handler
    try:
        handler = logging.FileHandler(folder / FILE_NAME, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()
    whose = f" {worker}" if worker else ""
    handler.setFormatter(
        logging.Formatter(f"%(asctime)s{whose} %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    LOG.addHandler(handler)
    return handler


def end(handler: logging.Handler) -> None:
    """Stop appending."""
    LOG.removeHandler(handler)
    handler.close()
