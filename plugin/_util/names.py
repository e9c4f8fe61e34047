"""Names of checkpoints: step and epoch in them, natural order, in node ids and in notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# `checkpoint-655`, `step_655`, `global_step655`, `iter_0000655`, `epoch=3-step=655`.
_STEP = re.compile(
    r"(?:^|[-_.=/])(?:checkpoint|ckpt|model|global_?steps?|steps?|iter(?:ation)?)[-_=]?(\d+)(?![\da-z])",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?:^|[-_.=/])epochs?[-_=]?(\d+(?:\.\d+)?)", re.IGNORECASE)
_STEP_WORD = re.compile(r"step|iter", re.IGNORECASE)

# `openai/openai_humaneval:config@split`; with a letter after its last dot it is a file's name.
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w-]*(?:\.(?=\d)[\w-]+)*(?::[\w.-]+)?(?:@[\w./-]+)?")

Natural = tuple[tuple[int, int, str], ...]


def step_in(name: str) -> int | None:
    """The optimizer step in a name: 655 of `checkpoint-655`; None without one.

    Of several numbers, the one beside `step` or `iter` counts.
    """
    found = list(_STEP.finditer(name))
    if not found:
        return None
    meant = next((match for match in found if _STEP_WORD.search(match[0])), found[0])
    return int(meant[1])


def epoch_in(name: str) -> float | None:
    """The epoch in a name: 3 of `checkpoint_epoch_3.pt`; None without one."""
    found = _EPOCH.search(name)
    return float(found[1]) if found else None


def natural_key(text: str) -> Natural:
    """Sorts `run-9` before `run-10`: numbers compare by value, letters without their case."""
    parts = (part for part in re.split(r"(\d+)", text) if part)
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p.casefold()) for p in parts)


def with_checkpoint(nodeid: str, checkpoint: str) -> str:
    """A node id in a session of several checkpoints: `f.py::test[checkpoint-655/s-1]`."""
    head, bracket, name = nodeid.partition("[")
    if not bracket or name.startswith(f"{checkpoint}/"):
        return nodeid
    return f"{head}[{checkpoint}/{name}"


def name_list(names: Sequence[str], of: int) -> str:
    """Of a session's checkpoints up to three names, `all 20 checkpoints`, or two and a count."""
    if len(names) <= 3:
        return ", ".join(names)
    if len(names) == of:
        return f"all {of} checkpoints"
    return f"{', '.join(names[:2])} and {len(names) - 2} other checkpoints"


def is_hub_name(text: str) -> bool:
    """Whether a text can be `ORGANISATION/NAME[:CONFIG][@SPLIT]` of a dataset on the hub.

    A path comes first: nothing in a folder that exists, and nothing with a file's ending.
    """
    return _HUB_NAME.fullmatch(text) is not None and not Path(text).parent.exists()
