"""Files named `*_eval_results.json`: the few numbers of one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import is_count, is_number
from .._util.names import epoch_in, natural_key, step_in
from ..analysis.composites import with_composite
from ..gate.measurement import Measurement
from ..scores.composite import DEFAULT_WEIGHTS
from .reported import fraction, read_object, real_and_lambada, run_of
from .result import Result

ENDING = "_eval_results.json"
_SCORES = {"real1": "real@1", "real5": "real@5", "lambada_top1": "lambada@1"}
_NEEDED = ("coref_samples", *_SCORES, "score")
_KNOWN = (*_NEEDED, "checkpoint", "run", "step", "epoch", "seq_len", "lambada_samples")


def read_eval_results(paths: Sequence[Path]) -> Result:
    """Read the files of one folder, the checkpoints in natural order.

    `coref_samples` is the n of Real@K. That of LAMBADA@1 is only in `lambada_samples`; without it
    differences are not tested. Other scalars of a file become facts of its checkpoint.

    Raises:
        CkptbenchError: a missing key is there mistyped, or a score is no fraction.
    """
    read = sorted((_measurement(path) for path in paths), key=lambda m: natural_key(m.name))
    notes = []
    parts = [bench for measurement in read for bench in measurement.benchmarks]
    if any(b.benchmark == "lambada" and not b.scores[0].n for b in parts):
        notes.append("lambada@1 is reported without its n: its differences are not tested")
    location = paths[0] if len(paths) == 1 else paths[0].parent
    return Result(location, "eval-results", tuple(read), notes=tuple(notes))


def _measurement(path: Path) -> Measurement:
    content = read_object(path)
    _check_keys(content, path)
    where = str(path)
    values = {metric: fraction(content, key, where) for key, metric in _SCORES.items()}
    n, lambada_n = (_count(content, key, where) for key in ("coref_samples", "lambada_samples"))
    benchmarks = real_and_lambada(values, n, lambada_n)
    if not benchmarks:
        raise CkptbenchError("holds no score", where=where)
    spec = str(content.get("checkpoint") or path.name.removesuffix(ENDING))
    name = spec.rstrip("/").rpartition("/")[2] or spec
    facts = {
        key: value
        for key, value in content.items()
        if key not in _KNOWN and isinstance(value, str | int | float | bool)
    }
    epoch = content.get("epoch")
    step = content.get("step")
    measurement = Measurement(
        name=name,
        run=str(content.get("run") or run_of(spec) or path.resolve().parent.name),
        step=step if isinstance(step, int) else step_in(name),
        epoch=float(epoch) if is_number(epoch) else epoch_in(name),
        seq_len=_count(content, "seq_len", where),
        benchmarks=benchmarks,
        source=where,
        spec=spec,
        facts=facts,
        printed_composite=fraction(content, "score", where),
    )
    return with_composite(measurement, DEFAULT_WEIGHTS)


def _check_keys(content: Mapping[str, Any], path: Path) -> None:
    missing = [key for key in _NEEDED if key not in content]
    for key in content:
        if key not in _KNOWN and (hint := nearest(key, missing)):
            raise CkptbenchError(
                f"unknown key {key!r}{hint}",
                where=str(path),
                remedy=f"Known are {', '.join(_KNOWN)}.",
            )


def _count(content: Mapping[str, Any], key: str, where: str) -> int | None:
    value = content.get(key)
    if value is not None and not is_count(value):
        raise CkptbenchError(f"{key!r} is {value!r}, not a whole number from 1", where=where)
    return value
