"""Expands patterns into the checkpoints they match: once, in the main process.

Nothing is dropped silently: matches that are no checkpoints, those before `--from-step`, and
further names of one checkpoint are listed in notes.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.names import natural_key
from .._util.text import counted, listed
from .found import Found, found_at, found_elsewhere, with_runs

OPTION = "--checkpoint"
DEFAULT_PATTERN = "checkpoint-*"
_ADAPTER = "+adapter="
_SHOWN = 5
_ENTRIES_SHOWN = 8
_FOLDERS_SEARCHED = 100


@dataclass(frozen=True, slots=True)
class CheckpointResolver:
    """Resolves what `--checkpoint` names; given by the plugin that loads checkpoints.

    Attributes:
        is_checkpoint: whether an existing path holds one.
        place_of: the path that a reserved name stands for, such as the demo's; None for any other
            spec.
        folder_of: the folder that the first part of a spec stands for; None likewise.
        spelled: a spec completed by other options, such as a revision of the hub.
        why_not: why the checkpoint of a spec cannot answer a kind of request, such as `FillMask`;
            empty when it can, or when that is not known.
        check: raises a `CkptbenchError` for the first of a session's specs that is no checkpoint,
            or when there is none. Nothing is loaded.
        runs_on: where the checkpoints would be loaded, as one sentence, and on how many GPUs; None
            on this machine.
        fetch: downloads what a spec names and this machine lacks; raises a `CkptbenchError`.
        check_files: raises a `CkptbenchError` for the first of several whose files show that it
            cannot be used. No weight is read.
        identity: the fingerprint and the revision that an engine of the checkpoint would state;
            None where only loading it tells these, and all that is to be noted of it.
    """

    is_checkpoint: Callable[[Path], bool]
    place_of: Callable[[str], Path | None]
    folder_of: Callable[[str], Path | None]
    spelled: Callable[[str], str] = str
    why_not: Callable[[str, type], str] = lambda spec, request: ""
    check: Callable[[Sequence[str]], None] = lambda specs: None
    fetch: Callable[[str], None] = lambda spec: None
    runs_on: Callable[[], tuple[str, float] | None] = lambda: None
    check_files: Callable[[Sequence[str]], None] = lambda specs: None
    identity: Callable[[str], tuple[str, int] | None] = lambda spec: None


@dataclass(frozen=True, slots=True)
class Expansion:
    """The checkpoints of a session.

    Attributes:
        found: in the order of the options; what one pattern matches by run and step.
        notes: what was left out, and why.
    """

    found: tuple[Found, ...]
    notes: tuple[str, ...] = ()


def _check_readable(found: Found) -> None:
    """Refuse a path that is no UTF-8, which the libraries that read its files cannot be given."""
    try:
        f"{found.spec}{found.path or ''}".encode()
    except UnicodeEncodeError:
        raise CkptbenchError(
            f"the path {str(found.path or found.spec)!r} is no UTF-8",
            where=OPTION,
            remedy="rename it, or give a link to it: ln -s PATH NAME",
        ) from None


def is_pattern(spec: str) -> bool:
    """Whether a spec has to be matched. An existing path is no pattern."""
    return glob.has_magic(spec) and "://" not in spec and not Path(spec).expanduser().exists()


def expand(
    specs: Sequence[str],
    known: CheckpointResolver,
    *,
    pattern: str = "",
    from_step: int | None = None,
) -> Expansion:
    """The checkpoints that the specs mean, each once.

    A spec is a path, a quoted pattern, or a run's folder in which `pattern` is matched. One that
    is neither a pattern nor a path is kept as it is, for the plugin that loads it.

    Args:
        pattern: what to match inside of folders; empty leaves a folder as it is, except that
            `from_step` chooses among a run's `checkpoint-*`.
        from_step: leave out what a pattern matches of earlier steps.

    Raises:
        CkptbenchError: a pattern matches nothing, `from_step` leaves nothing, or there is nothing
            that they could apply to.
    """
    sweep = _Sweep(known, pattern, from_step)
    found = [each for spec in specs for each in sweep.of(spec)]
    sweep.check_used(specs)
    for each in found:
        _check_readable(each)
    return Expansion(tuple(with_runs(sweep.once(found))), tuple(sweep.notes))


@dataclass
class _Sweep:
    """One session's expansion, with what it leaves out."""

    known: CheckpointResolver
    pattern: str
    from_step: int | None
    chose: bool = False
    notes: list[str] = field(default_factory=list)

    def of(self, spec: str) -> list[Found]:
        """The checkpoints of one option; of `BASE+adapter=DIR`, the folder is matched."""
        base, adapter, path = spec.partition(_ADAPTER)
        if adapter:
            return [replace(each, spec=f"{base}{adapter}{each.spec}") for each in self.of(path)]
        folder = self._run_folder(spec)
        if folder is not None:
            inner = self.pattern or DEFAULT_PATTERN
            return self._matches(f"{spec.rstrip('/')}/{inner}", glob.escape(str(folder)), inner)
        if is_pattern(spec):
            return self._matches(spec, *self._rooted(spec))
        found = self.known.place_of(spec) or _absolute(spec)
        return [found_at(spec, found) if found.exists() else found_elsewhere(spec)]

    def check_used(self, specs: Sequence[str]) -> None:
        """Refuse options that chose among nothing."""
        option = "--checkpoint-pattern" if self.pattern else "--from-step"
        if (self.pattern or self.from_step) and not self.chose:
            given = f"--checkpoint is {', '.join(specs)}" if specs else "no --checkpoint was given"
            raise CkptbenchError(
                f"there is nothing to choose from: {given}",
                where=option,
                remedy="give a run's folder, or a quoted pattern such as 'runs/x/checkpoint-*'",
            )

    def once(self, found: Sequence[Found]) -> list[Found]:
        """Each checkpoint under the first of its names."""
        kept: dict[str, Found] = {}
        for each in found:
            base, adapter, _ = each.spec.partition(_ADAPTER)
            path = os.path.realpath(each.path) if each.path else each.spec
            key = f"{base}{adapter}{path}" if adapter else path
            first = kept.setdefault(key, each)
            if first.spec != each.spec:
                self.notes.append(f"{each.spec} is {first.spec}: it is asked once")
        self.notes += [each.fault for each in kept.values() if each.fault]
        return list(kept.values())

    def _run_folder(self, spec: str) -> Path | None:
        """The folder in which checkpoints are to be matched; None where the spec is one itself."""
        if not self.pattern and self.from_step is None:
            return None
        folder = self.known.folder_of(spec) or _absolute(spec)
        if not folder.is_dir() or (not self.pattern and self.known.is_checkpoint(folder)):
            return None
        return folder

    def _rooted(self, spec: str) -> tuple[str, str]:
        """The folder a pattern starts from, escaped, and the rest of it."""
        first, slash, rest = spec.partition("/")
        folder = self.known.folder_of(first) if slash else None
        if folder is not None:
            return glob.escape(str(folder)), rest
        return _literal(os.path.expanduser(spec))

    def _matches(self, spec: str, root: str, pattern: str) -> list[Found]:
        """What a pattern matches below a root, in order; `spec` is how the user would write it."""
        self.chose = True
        whole = os.path.join(root, pattern)
        paths = [Path(os.path.abspath(path)) for path in glob.glob(whole, recursive=True)]
        if not paths:
            raise unmatched(spec, whole)
        recognised = [path for path in paths if self.known.is_checkpoint(path)]
        # Where none is of a kind known here, a conftest's own fixture may know them; if ours is
        # to load them, each is refused by name.
        checkpoints = recognised or paths
        if others := [path for path in paths if path not in set(checkpoints)]:
            names = sorted(f"{path.parent.name}/{path.name}" for path in others)
            self.notes.append(f"{spec} also matches what is no checkpoint: {listed(names, _SHOWN)}")
        first = spec.partition("/")[0]
        prefix = first if root and self.known.folder_of(first) else ""
        found = [found_at(_spec(path, prefix, root), path) for path in checkpoints]
        return self._from_step_on(spec, sorted(found, key=Found.order))

    def _from_step_on(self, spec: str, found: list[Found]) -> list[Found]:
        start = self.from_step
        if start is None:
            return found
        unknown = [each for each in found if each.step is None]
        kept = [each for each in found if each.step is None or each.step >= start]
        if not kept:
            last = max(each.step or 0 for each in found)
            raise CkptbenchError(
                f"{spec} matches {len(found)} checkpoints, all of earlier steps up to {last}",
                where="--from-step",
                remedy=f"give a step of at most {last}",
            )
        if len(kept) < len(found):
            left_out = counted(len(found) - len(kept), "checkpoint")
            self.notes.append(f"{spec}: {left_out} before step {start} left out (--from-step)")
        if unknown:
            names = ", ".join(each.path.name for each in unknown[:_SHOWN] if each.path)
            self.notes.append(f"{spec}: kept despite --from-step, as the step is unknown: {names}")
        return kept


def _literal(pattern: str) -> tuple[str, str]:
    """A pattern's leading folders that are there under these very names, escaped, and the rest.

    Names such as `run[lr=1e-4]` would match something else.
    """
    parts = Path(pattern).parts
    known = 0
    for number in range(1, len(parts)):
        if glob.has_magic(parts[number - 1]):
            if not os.path.isdir(os.path.join(*parts[:number])):
                break
            known = number
    if not known:
        return "", pattern
    return glob.escape(os.path.join(*parts[:known])), os.path.join(*parts[known:])


def _absolute(spec: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(spec)))


def _spec(path: Path, prefix: str, root: str) -> str:
    """How a match would be given alone: relative to the current folder, if it is inside."""
    if prefix:
        base = Path(glob.glob(root)[0]) if glob.has_magic(root) else Path(root)
        return f"{prefix}/{os.path.relpath(path, base)}"
    below = os.path.relpath(path)
    return str(path) if below.startswith("..") else below


def unmatched(spec: str, pattern: str) -> CkptbenchError:
    """The error that lists the folder in which the first part that matches nothing was looked for.

    Args:
        spec: the pattern as the user would write it.
        pattern: the same as it was matched.
    """
    folders, part = _last_that_match(pattern)
    if not folders:
        return CkptbenchError(f"{spec} matches nothing", where=OPTION)
    folders = sorted(folders, key=lambda path: natural_key(str(path)))[:_FOLDERS_SEARCHED]
    wanted = "".join(c for c in part if c not in "*?[]")
    near_in = {path: _near(wanted, _entries(path)) for path in folders}
    # The first of several folders, unless another one holds a similar name.
    folder = next((path for path in folders if near_in[path]), folders[0])
    entries, near = _entries(folder), near_in[folder]
    holds = f"holds {listed(entries, _ENTRIES_SHOWN)}" if entries else "is empty"
    remedy = f"{folder} {holds}"
    if near:
        remedy += f"; nearest: {', '.join(near)}"
    others = f" ({len(folders)} folders were looked into)" if len(folders) > 1 else ""
    return CkptbenchError(
        f"{spec} matches nothing: there is no {part!r}{others}", where=OPTION, remedy=remedy
    )


def _entries(folder: Path) -> list[str]:
    try:
        return sorted((entry.name for entry in folder.iterdir()), key=natural_key)
    except OSError:
        return []


def _near(wanted: str, entries: list[str]) -> list[str]:
    import difflib

    found = difflib.get_close_matches(wanted, entries, n=3, cutoff=0.5)
    return sorted(found, key=natural_key)


def _last_that_match(pattern: str) -> tuple[list[Path], str]:
    """The folders that the longest matching beginning of a pattern matches, and the next part."""
    path = Path(pattern)
    parts = [path.anchor, *path.parts[1:]] if path.anchor else [os.curdir, *path.parts]
    folders = [Path(parts[0])]
    for index, part in enumerate(parts[1:], start=1):
        matched = glob.glob(os.path.join(*parts[: index + 1]), recursive=True)
        inside = [Path(match) for match in matched if Path(match).is_dir()]
        if not inside:
            return [Path(os.path.abspath(folder)) for folder in folders], part
        folders = inside
    return [], ""


def refuse_unquoted(
    arguments: Iterable[str], found: Sequence[Found], is_checkpoint: Callable[[Path], bool]
) -> None:
    """Refuse checkpoints among pytest's own arguments that are in the folder of a given one.

    Of a pattern without quotes, pytest takes all matches but the first for tests.

    Args:
        arguments: files, folders and node ids that pytest was given.

    Raises:
        CkptbenchError: naming the first, and how to quote.
    """
    folders = {each.path.parent for each in found if each.path is not None}
    for argument in arguments:
        path = Path(os.path.abspath(argument.partition("::")[0]))
        if path.parent in folders and is_checkpoint(path):
            raise CkptbenchError(
                f"{argument} is a checkpoint, and was given to pytest as a folder of tests",
                where=OPTION,
                remedy="quote the pattern, so that the shell leaves it alone: "
                "--checkpoint 'runs/x/checkpoint-*'",
            )
