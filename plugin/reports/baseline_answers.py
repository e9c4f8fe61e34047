"""Finds what the baseline's model answered: beside the baseline, or in a run of its checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from .._util.errors import CkptbenchError
from ..gate.baseline import Baseline
from ..readers.baseline import load
from ..readers.baseline_answers import answers_path, read_answers
from ..readers.result import SampleRow
from ..readers.run import SUMMARY, read_summary, sample_rows

RUNS_SEARCHED = 50  # for the baseline's answers, the newest first
_Rows = Callable[[str], Iterable[SampleRow]]
"""The rows of a benchmark."""


class BaselineAnswers:
    """The answers of a baseline's samples; texts are an aid to a reader, so nothing is raised.

    Args:
        baseline: the file or folder, as the run names it.
        folder: of the run that is compared; runs of the baseline's checkpoint lie beside it.

    Attributes:
        note: where the answers are read from, or why there are none; one sentence.
    """

    def __init__(self, baseline: str, folder: Path) -> None:
        path = Path(baseline)
        self._baseline: Baseline | None = None
        self._own = ""
        self._sources: list[tuple[str, _Rows]] = []
        self.note, refused = "", ""
        try:
            self._baseline = known = load(path)
            beside = answers_path(path)
            if not path.is_dir():
                try:
                    rows = read_answers(beside, known)
                    self._own = str(beside)
                    self._sources.append((self._own, lambda name: _of(rows, name)))
                except CkptbenchError as error:
                    refused = f"{error.where} {error.what}"
            first = path if path.is_dir() else path.parent
            self._sources += _runs_with(known.fingerprint, first, folder)
        except (CkptbenchError, OSError) as error:
            refused = f"{baseline}: {error.what if isinstance(error, CkptbenchError) else error}"
        nowhere = f"{folder.parent} has no run of that checkpoint"
        self._none = ", and ".join(filter(None, [refused, nowhere]))

    def rows(
        self, benchmark: str, protocol: str, wanted: Mapping[str, str]
    ) -> dict[str, SampleRow]:
        """The samples as the baseline's model answered them, by hash.

        An answer whose outcome is not the baseline's is of other settings, and left out.

        Args:
            wanted: by hash, the change that the answer shows: `won` if it is right.
        """
        for source, read in self._sources:
            try:
                rows = changed_rows(read(benchmark), protocol, wanted, by_hash=True)
            except (CkptbenchError, OSError):
                continue
            own = source == self._own
            fit = {k: r for k, r in rows.items() if own or self._is_the_baselines(r, wanted[k])}
            if fit:
                self.note = f"the baseline's answers are read from {source}"
                return fit
        self.note = self.note or f"baseline answers not available: {self._none}"
        return {}

    def _is_the_baselines(self, row: SampleRow, change: str) -> bool:
        """Whether an answer has the baseline's value; of several trials, its status."""
        held = self._baseline.find(row.protocol) if self._baseline is not None else None
        if held is not None and held.metrics and row.hash in held.outcomes:
            value = row.values.get(held.metrics[0])
            if value is not None and held.trials_of(row.hash) == 1:
                return value == held.outcomes[row.hash][0]
        return shows(row, change)


def shows(row: SampleRow, change: str) -> bool:
    """Whether a trial's outcome is the one after a change."""
    return row.status == ("missed" if change == "lost" else "passed")


def changed_rows(
    rows: Iterable[SampleRow], protocol: str, wanted: Mapping[str, str], *, by_hash: bool
) -> dict[str, SampleRow]:
    """The sample rows that show the change: of several trials one that was missed, or passed."""
    found: dict[str, SampleRow] = {}
    keys: dict[str, str] = {}  # by hash: a node id names the first trial of its sample only
    for row in rows:
        if row.protocol != protocol:
            continue
        key = row.hash if by_hash else keys.get(row.hash, row.nodeid)
        if key not in wanted:
            continue
        keys[row.hash] = key
        if key not in found or (shows(row, wanted[key]) and found[key].status != row.status):
            found[key] = row
    return found


def _of(rows: Iterable[SampleRow], benchmark: str) -> Iterator[SampleRow]:
    return (row for row in rows if row.benchmark == benchmark)


def _runs_with(fingerprint: str, first: Path, folder: Path) -> Iterator[tuple[str, _Rows]]:
    """The runs that measured a checkpoint, the baseline's own first."""
    if not fingerprint:
        return
    others = (path for path in folder.parent.glob(f"*/{SUMMARY}") if path.parent != folder)
    newest = sorted(others, key=lambda path: -path.stat().st_mtime)[:RUNS_SEARCHED]
    for path in (first / SUMMARY, *newest):
        if path.is_file() and fingerprint in path.read_text(encoding="utf-8", errors="replace"):
            try:
                checkpoints = read_summary(path.parent).checkpoints
            except CkptbenchError:
                continue
            for name in (c.name for c in checkpoints if c.fingerprint == fingerprint):
                yield str(path.parent), _reader(path.parent, name)


def _reader(run: Path, checkpoint: str) -> _Rows:
    return lambda benchmark: sample_rows(run, checkpoint, benchmark)
