"""The answers of a baseline's samples, kept beside the baseline: `best.answers.jsonl.gz`.

A gzip of JSON lines. The first is `{"format": ..., "baseline": digest}`; each other one is a
sample's answer, `{"benchmark": ..., "protocol": ..., "hash": ..., "trial": ..., "status": ...,
"reason": ..., "response": ...}`: of the trials of a sample the first that passed and the first that
missed. The questions are not in it: whoever compares has the same samples. The file is an aid to a
reader and no part of a comparison.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from .._util.atomic import atomic_writer
from .._util.errors import CkptbenchError
from ..gate.baseline import Baseline
from ..results.summary import CheckpointResult
from .baseline import load
from .result import SampleRow
from .run import sample_rows

FORMAT = "ckptbench.baseline-answers/1"
_KEPT = ("benchmark", "protocol", "hash", "trial", "status", "reason", "response")
_REMEDY = "Write the baseline again with --update-baseline, or remove the file."


def answers_path(baseline: Path) -> Path:
    """Where the answers of a baseline file lie: `best.answers.jsonl.gz` beside `best.json`."""
    return baseline.with_name(f"{baseline.stem}.answers.jsonl.gz")


def digest(baseline: Baseline) -> str:
    """SHA-256 of whose answers and of which outcomes a baseline has."""
    outcomes = {name: sorted(each.outcomes.items()) for name, each in baseline.benchmarks.items()}
    known = json.dumps([baseline.fingerprint, outcomes], sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()


def write_answers(baseline: Path, run: Path, checkpoint: CheckpointResult) -> Path:
    """Keep the answers of a run beside the baseline file that was written from it.

    Args:
        run: the run's folder, with its sample files.

    Raises:
        CkptbenchError: a file cannot be read or written.
    """
    path, packed = answers_path(baseline), io.BytesIO()
    # Without a name and a time in its header, the same answers give the same bytes.
    with gzip.GzipFile("", "wb", mtime=0, fileobj=packed) as file:
        head = {"format": FORMAT, "baseline": digest(load(baseline))}
        file.write(f"{json.dumps(head)}\n".encode())
        for row in _kept_rows(run, checkpoint):
            line = {name: getattr(row, name) for name in _KEPT}
            file.write(f"{json.dumps(line)}\n".encode())
    with atomic_writer(path) as target:
        target.buffer.write(packed.getvalue())
    return path


def read_answers(path: Path, baseline: Baseline) -> list[SampleRow]:
    """The answers of a baseline's samples, as sample rows without fields, ids and values.

    Raises:
        CkptbenchError: the file is missing or damaged, or of another baseline.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            head, *lines = map(json.loads, file)
        rows = [
            SampleRow(baseline.checkpoint, id="", nodeid="", values={}, fields={}, **each)
            for each in ({name: line[name] for name in _KEPT} for line in lines)
        ]
        found = (head["format"], head["baseline"])
    except FileNotFoundError:
        raise CkptbenchError("does not exist", where=str(path), remedy=_REMEDY) from None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        what = f"cannot be read: {type(error).__name__}: {error}"
        raise CkptbenchError(what, where=str(path), remedy=_REMEDY) from None
    if found != (FORMAT, digest(baseline)):
        what = "holds the answers of another baseline"
        raise CkptbenchError(what, where=str(path), remedy=_REMEDY)
    return rows


def _kept_rows(run: Path, checkpoint: CheckpointResult) -> Iterator[SampleRow]:
    names = dict.fromkeys(b.benchmark for b in checkpoint.benchmarks if not b.is_group)
    for benchmark in names:
        seen: set[tuple[str, str, str]] = set()
        for row in sample_rows(run, checkpoint.name, benchmark):
            key = (row.protocol, row.hash, row.status)
            if row.status in ("passed", "missed") and key not in seen:
                seen.add(key)
                yield row
