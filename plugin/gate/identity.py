"""Whether two results measure the same thing: the settings that decide it, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import Scalar
from .baseline import BaselineBenchmark

# The settings that `--allow-mismatch` accepts, and how messages name them.
SETTINGS: Mapping[str, str] = {
    "protocol": "protocol",
    "revision": "revision of the protocol",
    "temperature": "temperature",
    "top_p": "top-p",
    "max_tokens": "max tokens",
    "stop": "stop strings",
    "chat": "chat template",
    "system_instruction": "system instruction",
    "fewshot_as_multiturn": "examples as turns",
    "exec_timeout_s": "time limit of a program, s",
    "exec_memory_mb": "memory of a program, MiB",
    "exec_libraries": "libraries of a program",
    "codecontests_tests": "tests of a problem",
}

LIMIT_PREFIX = "exec_"
"""What the settings that limit generated programs begin with."""

# Values of settings that a result which records `chat` leaves out.
UNLESS_RECORDED: Mapping[str, Scalar] = {
    "system_instruction": "",
    "fewshot_as_multiturn": False,
}


FIRST_REVISION = ("revision", 1)
"""The setting of a protocol that was never corrected under its name."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A setting that makes two results two different measurements.

    Attributes:
        name: a key of `SETTINGS`, or of the benchmark's own settings.
        baseline: its value in the baseline.
        current: its value in this run.
    """

    name: str
    baseline: Scalar
    current: Scalar

    def __str__(self) -> str:
        """`temperature 0 in the baseline, 0.8 here`."""
        what = _words(self.name)
        return f"{what} {_shown(self.baseline)} in the baseline, {_shown(self.current)} here"


def mismatches(
    reference: BaselineBenchmark, protocol: str, settings: Mapping[str, Scalar]
) -> Iterator[Mismatch]:
    """The protocol and the settings that differ from the baseline's, of those that both record."""
    if reference.protocol and protocol and reference.protocol != protocol:
        yield Mismatch("protocol", reference.protocol, protocol)
    ours, theirs = dict(settings), dict(reference.settings)
    if "chat" in ours and "chat" in theirs:
        usual = {name: UNLESS_RECORDED[name] for name in UNLESS_RECORDED if name in ours | theirs}
        ours, theirs = {**usual, **ours}, {**usual, **theirs}
    for name, value in ours.items():
        if name in theirs and theirs[name] != value:
            yield Mismatch(name, theirs[name], value)


def unrecorded(reference: BaselineBenchmark, settings: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Settings of this run that the baseline does not record, for a note.

    Answers drawn at temperature 0 have no top-p, and a first revision says nothing new.
    """
    absent = [
        name
        for name, value in settings.items()
        if name not in (*reference.settings, *UNLESS_RECORDED) and (name, value) != FIRST_REVISION
    ]
    if "temperature" in reference.settings:
        absent = [name for name in absent if name != "top_p"]
    return tuple(_words(name) for name in absent)


def check_allowed(names: Iterable[str], limits: Iterable[str] = ()) -> None:
    """Refuse a name that is no setting.

    Args:
        limits: names of the settings that limit generated programs.

    Raises:
        CkptbenchError: naming the nearest one.
    """
    known = tuple(dict.fromkeys([*SETTINGS, *limits]))
    for name in names:
        if name.replace("-", "_") not in known:
            raise CkptbenchError(
                f"no setting named {name!r}{nearest(name, known)}",
                where="--allow-mismatch",
                remedy=f"Settings are {', '.join(known)}.",
            )


def _words(name: str) -> str:
    """What a setting is called: `memory of a program, MiB`, and `open files of a program`."""
    if name in SETTINGS or not name.startswith(LIMIT_PREFIX):
        return SETTINGS.get(name, name)
    return f"{name.removeprefix(LIMIT_PREFIX).replace('_', ' ')} of a program"


def _shown(value: Scalar) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None or value == "" else str(value)
