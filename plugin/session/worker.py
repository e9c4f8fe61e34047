"""A worker of pytest-xdist: its GPU, its share of the cores, and what it sends the main process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Attributes of a report and of a worker's output.
REFUSAL = "ckptbench_refusal"
NOTES = "ckptbench_notes"
# Of a session that was ended: its workers' answers are stored, and they have nothing else to do.
_WORKERS_EXIT_S = 2


def visible_gpus() -> list[str]:
    """Names of the GPUs that CUDA would use, found without loading it."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name for name in chosen.split(",") if name.strip() not in ("", "-1")]
    try:
        cards = list(Path("/proc/driver/nvidia/gpus").iterdir())
    except OSError:  # as in some containers, which show the devices all the same
        cards = [path for path in Path("/dev").glob("nvidia*") if path.name[6:].isdecimal()]
    return [str(i) for i in range(len(cards))]


def worker_number(worker: str) -> int:
    """3 for `gw3`."""
    digits = worker.removeprefix("gw")
    return int(digits) if digits.isdecimal() else 0


def share_the_machine(worker: str, workers: int) -> None:
    """Assign a worker its GPU and its share of the cores, before torch is loaded."""
    gpus = visible_gpus()
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[worker_number(worker) % len(gpus)]
    if "OMP_NUM_THREADS" not in os.environ:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        os.environ["OMP_NUM_THREADS"] = str(max(1, cores // max(1, workers)))


def leave_workers_soon(config: pytest.Config) -> None:
    """Kill workers that do not end at once when they are told to; xdist waits ten seconds."""
    manager = getattr(config.pluginmanager.get_plugin("dsession"), "nodemanager", None)
    if manager is not None:
        manager.EXIT_TIMEOUT = _WORKERS_EXIT_S


def report_refusal(session: pytest.Session, message: str) -> None:
    """Report to the main process why this worker will run nothing."""
    report = pytest.CollectReport("ckptbench", "failed", longrepr=message, result=[])
    setattr(report, REFUSAL, message)
    session.config.hook.pytest_collectreport(report=report)
