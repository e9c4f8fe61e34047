"""`run.log`: what happened in a run, a line at a time, as it happens."""

from __future__ import annotations

import logging
from pathlib import Path

FILE_NAME = "run.log"
LOG = logging.getLogger("ckptbench.run")
# pytest collects what reaches the root logger and prints it beside failed tests.
LOG.propagate = False
LOG.setLevel(logging.INFO)


def begin(folder: Path, worker: str) -> logging.Handler:
    """Append what is logged from now on to the run's file.

    Processes of one run share the file: each line is written at once. A log that cannot be
    written is no reason to stop a run whose answers can. The worker's name is empty in the main
    process.
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
