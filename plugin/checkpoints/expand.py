"""Patterns become the checkpoints they match: once, in the main process.

Nothing vanishes in silence: what a pattern matches and is no checkpoint, what comes before
`--from-step`, and what is another name of a checkpoint at hand is told in a note.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .._util.errors import CkptbenchError
from .errors import unmatched
from .found import Found, found_at, with_runs

OPTION = "--checkpoint"
DEFAULT_PATTERN = "checkpoint-*"
_ADAPTER = "+adapter="
_SHOWN = 5


def _any_answer(spec: str, request: type) -> str:
    return ""


def _any_checkpoints(specs: Sequence[str]) -> None:
    pass


@dataclass(frozen=True, slots=True)
class CheckpointResolver:
    """What whoever loads checkpoints knows of `--checkpoint`.

    Attributes:
        is_checkpoint: whether an existing path holds one.
        place_of: the path that a spec with a name of its own stands for, such as the demo's; None
            for any other.
        folder_of: the folder that the first part of a spec stands for; None likewise.
        spelled: a spec with what other options say of it, such as a revision of the hub.
        why_not: why the checkpoint of a spec cannot answer a kind of request, such as `FillMask`;
            empty when it can, or when that is not known.
        check: raises a `CkptbenchError` for the first of a session's specs that is no checkpoint,
            or when there is none. Nothing is loaded.
    """

    is_checkpoint: Callable[[Path], bool]
    place_of: Callable[[str], Path | None]
    folder_of: Callable[[str], Path | None]
    spelled: Callable[[str], str] = str
    why_not: Callable[[str, type], str] = _any_answer
    check: Callable[[Sequence[str]], None] = _any_checkpoints


@dataclass(frozen=True, slots=True)
class Expansion:
    """The checkpoints of a session.

    Attributes:
        found: in the order of the options; what one pattern matches by run and step.
        notes: what was left out, and why.
    """

    found: tuple[Found, ...]
    notes: tuple[str, ...] = ()


def is_pattern(spec: str) -> bool:
    """Whether a spec has to be matched. A path that exists is meant as it stands."""
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
    is neither a pattern nor a path is kept as it is: whoever loads it knows what it means.

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
    return Expansion(tuple(with_runs(sweep.once(found))), tuple(sweep.notes))


class _Sweep:
    """One session's expansion, with what it leaves out."""

    def __init__(self, known: CheckpointResolver, pattern: str, from_step: int | None) -> None:
        self._known = known
        self._pattern = pattern
        self._from_step = from_step
        self._chose = False
        self.notes: list[str] = []

    def of(self, spec: str) -> list[Found]:
        """The checkpoints of one option; of `BASE+adapter=PLACE`, the place is what is matched."""
        base, adapter, place = spec.partition(_ADAPTER)
        if adapter:
            return [replace(each, spec=f"{base}{adapter}{each.spec}") for each in self.of(place)]
        folder = self._run_folder(spec)
        if folder is not None:
            inner = self._pattern or DEFAULT_PATTERN
            return self._matches(f"{spec.rstrip('/')}/{inner}", glob.escape(str(folder)), inner)
        if is_pattern(spec):
            return self._matches(spec, *self._rooted(spec))
        path = self._known.place_of(spec) or _absolute(spec)
        return [found_at(spec, path) if path.exists() else Found(spec)]

    def check_used(self, specs: Sequence[str]) -> None:
        """Refuse options that chose among nothing."""
        given = [
            n
            for n, v in (("--checkpoint-pattern", self._pattern), ("--from-step", self._from_step))
            if v
        ]
        if given and not self._chose:
            told = f"--checkpoint is {', '.join(specs)}" if specs else "no --checkpoint was given"
            raise CkptbenchError(
                f"there is nothing to choose from: {told}",
                where=given[0],
                remedy="give a run's folder, or a quoted pattern such as 'runs/x/checkpoint-*'",
            )

    def once(self, found: Sequence[Found]) -> list[Found]:
        """Each checkpoint under the first of its names."""
        kept: dict[str, Found] = {}
        for each in found:
            base, adapter, _ = each.spec.partition(_ADAPTER)
            place = os.path.realpath(each.path) if each.path else each.spec
            key = f"{base}{adapter}{place}" if adapter else place
            first = kept.setdefault(key, each)
            if first.spec != each.spec:
                self.notes.append(f"{each.spec} is {first.spec}: it is asked once")
        for each in kept.values():
            if each.fault:
                self.notes.append(each.fault)
        return list(kept.values())

    def _run_folder(self, spec: str) -> Path | None:
        """The folder in which checkpoints are to be matched; None where the spec is one itself."""
        if not self._pattern and self._from_step is None:
            return None
        folder = self._known.folder_of(spec) or _absolute(spec)
        if not folder.is_dir() or (not self._pattern and self._known.is_checkpoint(folder)):
            return None
        return folder

    def _rooted(self, spec: str) -> tuple[str, str]:
        """The folder a pattern starts from, escaped, and the rest of it."""
        first, slash, rest = spec.partition("/")
        folder = self._known.folder_of(first) if slash else None
        if folder is not None:
            return glob.escape(str(folder)), rest
        return "", os.path.expanduser(spec)

    def _matches(self, said: str, root: str, pattern: str) -> list[Found]:
        """What a pattern matches below a root, in order; `said` is how the user would write it."""
        self._chose = True
        whole = os.path.join(root, pattern)
        paths = [Path(os.path.abspath(path)) for path in glob.glob(whole, recursive=True)]
        if not paths:
            raise unmatched(said, whole)
        recognised = [path for path in paths if self._known.is_checkpoint(path)]
        # Where none is of a kind known here, a conftest's own fixture may know them; if ours is
        # to load them, each is refused by name.
        taken = recognised or paths
        self._tell_others(said, [path for path in paths if path not in set(taken)])
        prefix = (
            said.partition("/")[0] if root and self._known.folder_of(said.partition("/")[0]) else ""
        )
        found = [found_at(_spec(path, prefix, root), path) for path in taken]
        return self._late_enough(said, sorted(found, key=Found.order))

    def _tell_others(self, said: str, others: Sequence[Path]) -> None:
        if others:
            names = sorted(f"{path.parent.name}/{path.name}" for path in others)
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            listed = ", ".join(names[:_SHOWN]) + more
            self.notes.append(f"{said} also matches what is no checkpoint: {listed}")

    def _late_enough(self, said: str, found: list[Found]) -> list[Found]:
        start = self._from_step
        if start is None:
            return found
        unknown = [each for each in found if each.step is None]
        kept = [each for each in found if each.step is None or each.step >= start]
        if not kept:
            last = max(each.step or 0 for each in found)
            raise CkptbenchError(
                f"{said} matches {len(found)} checkpoints, all of earlier steps up to {last}",
                where="--from-step",
                remedy=f"give a step of at most {last}",
            )
        if len(kept) < len(found):
            count = len(found) - len(kept)
            noun = "checkpoint" if count == 1 else "checkpoints"
            self.notes.append(f"{said}: {count} {noun} before step {start} left out (--from-step)")
        if unknown:
            names = ", ".join(each.path.name for each in unknown[:_SHOWN] if each.path)
            self.notes.append(f"{said}: kept whatever --from-step, as no step is stated: {names}")
        return kept


def _absolute(spec: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(spec)))


def _spec(path: Path, prefix: str, root: str) -> str:
    """How a match would be given alone: relative to where the user stands, if it lies below."""
    if prefix:
        base = Path(glob.glob(root)[0]) if glob.has_magic(root) else Path(root)
        return f"{prefix}/{os.path.relpath(path, base)}"
    below = os.path.relpath(path)
    return str(path) if below.startswith("..") else below
