"""Finds the checkpoints of a folder, and those that a trainer has finished writing.

A checkpoint is ready when it is complete and none of its files has changed in size or time for the
settling time. That is measured on this machine's clock: a file server's may differ.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from ..checkpoints.kind import why_incomplete

PATTERNS = ("checkpoint-*", "checkpoint_*.pt", "checkpoint_*.pth", "*.ckpt")
# Names that trainers and copying programs write to before they rename: always ignored.
_TEMPORARY = ("tmp*", ".*", "*.tmp", "*.tmp-*", "*.temp", "*.part", "*.partial", "*.incomplete")


@dataclass(frozen=True, slots=True)
class Ready:
    """A checkpoint that can be evaluated.

    Attributes:
        path: its folder or file.
        signature: over names, sizes and times of its files: another one is another checkpoint.
    """

    path: Path
    signature: str

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The checkpoints of a folder at one time.

    Attributes:
        ready: in no particular order.
        unready: why the others are not ready, by name.
        gone: names that were in the snapshot before.
        changed: whether anything differs from the snapshot before.
    """

    ready: tuple[Ready, ...] = ()
    unready: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    changed: bool = False


@dataclass
class Scanner:
    """Looks at a folder again and again.

    Attributes:
        clock: gives seconds that only grow.
        patterns: names of checkpoints.
        settle_s: seconds for which a checkpoint must not change.
    """

    folder: Path
    clock: Callable[[], float]
    patterns: Sequence[str] = PATTERNS
    settle_s: float = 10.0
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict)  # signature, and since when

    def look(self) -> Snapshot:
        """The checkpoints at this time."""
        now = self.clock()
        before, self._seen = self._seen, {}
        ready: list[Ready] = []
        unready: dict[str, str] = {}
        for path in self._paths():
            name, signature = path.name, signature_of(path)
            seen = before.get(name)
            since = seen[1] if seen is not None and seen[0] == signature else now
            self._seen[name] = signature, since
            if not signature or now - since < self.settle_s:
                unready[name] = "still being written"
            elif why := why_incomplete(path):
                unready[name] = why
            else:
                ready.append(Ready(path, signature))
        gone = tuple(name for name in before if name not in self._seen)
        # What has changed is seen since now, so an unchanged folder gives equal entries.
        return Snapshot(tuple(ready), unready, gone, before != self._seen)

    def _paths(self) -> list[Path]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [self.folder / name for name in names if is_meant(name, self.patterns)]


def is_meant(name: str, patterns: Sequence[str] = PATTERNS) -> bool:
    """Whether a name is a checkpoint's, and not a temporary one."""
    if any(fnmatch(name, temporary) for temporary in _TEMPORARY):
        return False
    return any(fnmatch(name, pattern) for pattern in patterns)


def signature_of(checkpoint: Path) -> str:
    """A digest over names, sizes and times of the files; empty while they come and go."""
    paths = {"": checkpoint}
    try:
        if checkpoint.is_dir():
            files = (Path(top, name) for top, _, names in os.walk(checkpoint) for name in names)
            paths = {os.path.relpath(file, checkpoint): file for file in files}
        stats = [(name, path.stat()) for name, path in paths.items()]
        seen = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    except OSError:
        return ""
    return hashlib.sha256(repr(sorted(seen)).encode(errors="replace")).hexdigest()[:32]
