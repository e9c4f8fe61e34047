"""What a run's checkpoints say together, and its report: both read the run's folder back.

So they are what `ckptbench report` makes of the same folder later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..analysis.conclude import conclude
from ..analysis.conclusions import Conclusions
from ..readers.detect import read
from ..readers.result import Result


def concluded(
    folder: Path, *, alpha: float, tolerance: Mapping[str, float], seed: int
) -> tuple[Result, Conclusions]:
    """A run's results and what they allow to conclude.

    Raises:
        CkptbenchError: a file of the run cannot be read.
    """
    result = read(folder)
    conclusions = conclude(result.measurements, alpha=alpha, tolerance=tolerance, seed=seed)
    return result, conclusions


def write(
    result: Result, conclusions: Conclusions, folder: Path, formats: Sequence[str]
) -> tuple[Path, ...]:
    """Write a run's report into its folder, in each of the formats; the files written.

    Raises:
        CkptbenchError: a file cannot be written.
    """
    from .write import write_report

    return tuple(write_report([result], conclusions, folder, formats))
