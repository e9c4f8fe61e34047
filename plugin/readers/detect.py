"""Choose the reader for a path, and the result in a folder of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.extensions import contributions
from ..analysis.eligibility import in_order
from ..gate.baseline import FORMAT as BASELINE_FORMAT
from ..gate.baseline import OLDER_FORMATS
from ..results.layout import STORE
from ..results.lm_eval_files import ResultsFile, results_files
from ..results.summary import OLDER_SUMMARY_FORMATS, SUMMARY_FORMAT
from .baseline_measurement import read_baseline
from .evalplus import is_evalplus, read_evalplus
from .few_numbers import ENDING, KEYS, read_eval_results, read_table
from .lm_eval import read_lm_eval_file
from .numbers import read_numbers_file
from .reported import read_object, refuse_training
from .result import Result, SampleRow
from .run import SUMMARY, read_run

_ACCEPTED = (
    "Give a run's folder (or the folder of runs), lm-eval's results_*.json or its folder, "
    "*_eval_results.json or their folder, a baseline, a CSV of checkpoints, or a JSON of numbers."
)

# EvalPlus's of a folder of programs; of a training run, to say what it is.
_ALONE = ("eval_results.json", "all_results.json", "trainer_state.json")


@dataclass(frozen=True, slots=True)
class ResultReader:
    """Reads the results of some tool.

    Attributes:
        name: of the tool, as `Result.origin` has it.
        accepts: whether it can read an existing file or folder; it reads no more than needed.
        read: reads what it accepts.
    """

    name: str
    accepts: Callable[[Path], bool]
    read: Callable[[Path], Result]


def read(path: Path, *, n: Mapping[str, int] | None = None) -> Result:
    """Read results, whatever tool wrote them; of a folder of runs, the newest.

    Readers that plugins contribute come first.

    Args:
        n: samples where a CSV has none: by run, by sequence length, `lambada`, or `*`.

    Raises:
        CkptbenchError: the path has no results that can be read; lists what is accepted.
    """
    if not path.exists():
        raise CkptbenchError("there is no such file or folder", where=str(path), remedy=_ACCEPTED)
    for reader in contributions("pytest_ckptbench_result_readers").values():
        if reader.accepts(path):
            found: Result = reader.read(path)
            return found
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() == ".csv":
        return read_table(path, n)
    return _file(path)


def read_all(paths: Iterable[Path], *, n: Mapping[str, int] | None = None) -> tuple[Result, ...]:
    """Read several, with `n` for the tables; `*_eval_results.json` of one folder are one result.

    Raises:
        CkptbenchError: as in `read`; or the same result is given twice.
    """
    results: list[Result] = []
    siblings: dict[Path, list[Path]] = {}
    for path in paths:
        if path.name.endswith(ENDING) and path.is_file() and not _of_evalplus(path):
            if path.parent not in siblings:
                results.append(Result(path.parent, "", ()))
            siblings.setdefault(path.parent, []).append(path)
        else:
            results.append(read(path, n=n if path.suffix.lower() == ".csv" else None))
    if n and not any(result.origin == "table" for result in results):
        raise CkptbenchError("is for a CSV without n", where="--n")
    whole = [r if r.origin else read_eval_results(siblings[r.path]) for r in results]
    seen: set[Path] = set()
    for result in whole:
        if (location := result.path.resolve()) in seen:
            raise CkptbenchError("is given twice", where=str(result.path))
        seen.add(location)
    return tuple(whole)


def _file(path: Path) -> Result:
    content = read_object(path)
    if is_evalplus(content):
        return read_evalplus(content, path)
    if KEYS & content.keys():
        return read_eval_results([path])
    refuse_training(content, str(path))
    if path.name.endswith(ENDING):
        return read_eval_results([path])
    version = content.get("format")
    if version in (SUMMARY_FORMAT, *OLDER_SUMMARY_FORMATS):
        if path.name != SUMMARY:  # the samples beside it are found by that name
            raise CkptbenchError(
                f"is a run's summary under another name than {SUMMARY}",
                where=str(path),
                remedy="give the run's folder",
            )
        return read_run(path.parent)
    if version in (BASELINE_FORMAT, *OLDER_FORMATS):
        return read_baseline(path)
    if isinstance(version, str) and version.startswith("ckptbench."):
        raise CkptbenchError(f"has the format {version!r}", where=str(path), remedy=_ACCEPTED)
    if isinstance(content.get("results"), Mapping):
        of_lm_eval = ResultsFile(content, str(path)).has_filters
        return read_lm_eval_file(path) if of_lm_eval else read_numbers_file(path)
    try:
        return read_numbers_file(path)
    except CkptbenchError as error:
        raise CkptbenchError(error.what, where=error.where, remedy=_ACCEPTED) from None


def _folder(folder: Path) -> Result:
    if (folder / SUMMARY).is_file():
        return read_run(folder)
    if (folder / STORE).is_file():
        raise CkptbenchError(
            f"is a run that has not ended: it holds no {SUMMARY}",
            where=str(folder),
            remedy=f"Continue it with --run-id={folder.name}; stored answers are reused.",
        )
    runs = sorted(folder.glob(f"*/{SUMMARY}"), key=lambda p: (p.stat().st_mtime_ns, str(p)))
    if runs:
        return _chosen(read_run(runs[-1].parent), runs[-1].parent, folder, len(runs), "runs")
    if lm_eval := results_files(folder):
        return _checkpoints(folder, lm_eval)
    if evals := sorted(folder.glob(f"*{ENDING}")):
        mixed = any(map(_of_evalplus, evals))
        return _checkpoints(folder, evals) if mixed else read_eval_results(evals)
    if older := [path for path in sorted(folder.glob("*.json")) if _of_lm_eval(path)]:
        return _checkpoints(folder, older)
    for name in _ALONE:
        if (folder / name).is_file():
            return _file(folder / name)
    raise CkptbenchError("holds no results", where=str(folder), remedy=_ACCEPTED)


def _of_evalplus(path: Path) -> bool:
    return is_evalplus(read_object(path))


def _of_lm_eval(path: Path) -> bool:
    try:
        content = read_object(path)
    except CkptbenchError:
        return False
    return ResultsFile(content, str(path)).is_official


def _checkpoints(folder: Path, files: Sequence[Path]) -> Result:
    """The checkpoints of a folder in training order, of each the newest (the last) file."""
    newest: dict[tuple[str, str], tuple[Path, Result]] = {}
    for path in files:
        result = _file(path)
        (measurement,) = result.measurements
        newest[measurement.run, measurement.name] = path, result
    if len(newest) == 1:
        ((path, result),) = newest.values()
        return _chosen(result, path, folder, len(files), "files")
    notes = [note for _, result in newest.values() for note in result.notes]
    if len(newest) < len(files):
        notes.append(
            f"{folder} holds {len(files):,} files of {len(newest):,} checkpoints: the "
            "newest of each is taken"
        )
    names = Counter(name for _, name in newest)
    # Models of the same name, of several organizations or training runs.
    by_name = {
        f"{run}/{name}" if names[name] > 1 else name: result
        for (run, name), (_, result) in newest.items()
    }
    measurements = in_order([replace(r.measurements[0], name=n) for n, r in by_name.items()])

    def samples(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        return by_name[checkpoint].samples(checkpoint, benchmark)

    return Result(
        folder,
        next(iter(by_name.values())).origin,
        measurements,
        samples=samples,
        notes=tuple(dict.fromkeys(notes)),
    )


def _chosen(result: Result, path: Path, folder: Path, of: int, what: str) -> Result:
    if of == 1:
        return result
    note = f"{folder} holds {of:,} {what}: the newest is taken, {path.relative_to(folder)}"
    return replace(result, notes=(note, *result.notes))
